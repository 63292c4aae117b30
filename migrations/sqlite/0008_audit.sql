-- The audit trail: one row for each subject that an operator's change affected, written in the same transaction.
-- before, after: JSON of the public fields that changed; NULL: the subject did not exist. Purged after 400 days.
CREATE TABLE audit_events (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  at             INTEGER NOT NULL,
  actor          TEXT    NOT NULL,
  origin         TEXT    NOT NULL,
  remote_address TEXT    NOT NULL,
  request_id     TEXT,
  action         TEXT    NOT NULL,
  subject_kind   TEXT    NOT NULL,
  subject        TEXT    NOT NULL,
  before         TEXT,
  after          TEXT
) STRICT;

CREATE INDEX audit_events_by_time ON audit_events (at);
-- Events are listed in the order of ids; every SQLite index ends with the rowid, which is the id.
CREATE INDEX audit_events_by_subject ON audit_events (subject);
CREATE INDEX audit_events_by_actor ON audit_events (actor);
