-- Where this store was copied to, if it was: one row. While it is there the registry does not change, for what changed here
-- would be missing there; tokens are issued, checked and revoked as before.
CREATE TABLE moved (
  place     TEXT    NOT NULL,
  began_at  INTEGER NOT NULL,
  copied_at INTEGER
) STRICT;

-- Triggers and not only the program, so that a change by hand is refused too, and one by a program of an older version. The
-- message is a constant: SQLite before 3.47 could not open a database with another one.
CREATE TRIGGER application_not_added BEFORE INSERT ON applications WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER application_not_changed BEFORE UPDATE ON applications WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER application_not_removed BEFORE DELETE ON applications WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER suite_not_added BEFORE INSERT ON suites WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER suite_not_changed BEFORE UPDATE ON suites WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER suite_not_removed BEFORE DELETE ON suites WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER secret_not_added BEFORE INSERT ON secrets WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER secret_not_changed BEFORE UPDATE ON secrets WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER secret_not_removed BEFORE DELETE ON secrets WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER approval_not_added BEFORE INSERT ON approvals WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER approval_not_changed BEFORE UPDATE ON approvals WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER approval_not_removed BEFORE DELETE ON approvals WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
