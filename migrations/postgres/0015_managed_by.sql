-- Before the other tables: a check locks this table first, too.
LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;

-- The file or the program that manages an application or a suite; empty for none. An older program keeps it.
ALTER TABLE applications ADD COLUMN managed_by text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE suites ADD COLUMN managed_by text COLLATE "C" NOT NULL DEFAULT '';

-- When a change last named it. NULL: nothing manages it.
ALTER TABLE applications ADD COLUMN applied_at bigint;
ALTER TABLE suites ADD COLUMN applied_at bigint;
