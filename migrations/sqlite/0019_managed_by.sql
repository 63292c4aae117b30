-- The file or the program that manages an application or a suite; empty for none. An older program keeps it.
ALTER TABLE applications ADD COLUMN managed_by TEXT NOT NULL DEFAULT '';
ALTER TABLE suites ADD COLUMN managed_by TEXT NOT NULL DEFAULT '';

-- When a change last named it. NULL: nothing manages it.
ALTER TABLE applications ADD COLUMN applied_at INTEGER;
ALTER TABLE suites ADD COLUMN applied_at INTEGER;
