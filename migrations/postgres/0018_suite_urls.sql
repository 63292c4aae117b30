-- Before the other tables: a check locks this table first, too.
LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;

-- The resource identifier of a suite (RFC 8707); empty for none.
ALTER TABLE suites ADD COLUMN url text COLLATE "C" NOT NULL DEFAULT '';

-- The id of the only suite where a token is valid; NULL: every suite that its application is approved for. The generation of a
-- token with an audience is negative, so that 1.0.0, which does not know audiences, refuses it everywhere.
ALTER TABLE tokens ADD COLUMN audience text COLLATE "C";
