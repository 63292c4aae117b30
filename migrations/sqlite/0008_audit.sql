-- Who changed what: a row for each subject that a change of an operator has changed, written in the same transaction.
-- before, after: JSON with the public fields that differ; NULL: it was not there. Purged after 400 days.
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
-- Each has the id, too, by which rows are listed.
CREATE INDEX audit_events_by_subject ON audit_events (subject);
CREATE INDEX audit_events_by_actor ON audit_events (actor);
