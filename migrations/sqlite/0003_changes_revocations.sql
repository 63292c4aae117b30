-- A revoked token keeps its row until the purge deletes it, so that the log can say why it is refused.
ALTER TABLE tokens ADD COLUMN revoked_at INTEGER;

-- Counts changes that invalidate the caches of running servers: to the registry (applications, suites, their secrets and
-- approvals), and revocations of single tokens. One row. New tokens do not count. docs/adr/0009.
CREATE TABLE changes (
  registry    INTEGER NOT NULL,
  revocations INTEGER NOT NULL
) STRICT;

INSERT INTO changes (registry, revocations) VALUES (0, 0);

-- Triggers and not the program, so that a change by hand counts too, and one by a program of another version.
CREATE TRIGGER application_added AFTER INSERT ON applications BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER application_changed AFTER UPDATE ON applications BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER application_removed AFTER DELETE ON applications BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER suite_added AFTER INSERT ON suites BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER suite_changed AFTER UPDATE ON suites BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER suite_removed AFTER DELETE ON suites BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER secret_added AFTER INSERT ON secrets BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER secret_changed AFTER UPDATE ON secrets BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER secret_removed AFTER DELETE ON secrets BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER approval_added AFTER INSERT ON approvals BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER approval_changed AFTER UPDATE ON approvals BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER approval_removed AFTER DELETE ON approvals BEGIN UPDATE changes SET registry = registry + 1; END;
CREATE TRIGGER token_changed AFTER UPDATE ON tokens BEGIN UPDATE changes SET revocations = revocations + 1; END;

-- Not when the purge deletes an expired token, which is invalid whether cached or not.
CREATE TRIGGER token_removed AFTER DELETE ON tokens
  WHEN OLD.issued_at > unixepoch() * 1000 - 3600000
BEGIN
  UPDATE changes SET revocations = revocations + 1;
END;
