-- Before the other tables: a change by an operator locks this table first, too.
LOCK TABLE changes IN EXCLUSIVE MODE;

-- Each audit event has the hash of the one before, so that those which were changed, removed or added by hand are found.
-- chained_at: when it got its hash: when it was written or, if it is older than this or written by a program of 1.0.0, later.
-- NULL: it has none yet. previous_at, previous_hash: the time and the hash of the event before; NULL: it is the first one.
-- hash: SHA-256 of all other columns, in base64url.
ALTER TABLE audit_events ADD COLUMN chained_at bigint;
ALTER TABLE audit_events ADD COLUMN previous_at bigint;
ALTER TABLE audit_events ADD COLUMN previous_hash text;
ALTER TABLE audit_events ADD COLUMN hash text;

CREATE INDEX audit_events_unchained ON audit_events (id) WHERE chained_at IS NULL;
