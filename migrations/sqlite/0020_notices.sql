-- What was posted, or will be, to the URL for notices. A matter is over if its newest row has the event 'ended'. due_at: from when
-- on it may be posted, or posted again; null if nothing is left to do.
CREATE TABLE notices (
  id         INTEGER PRIMARY KEY,
  matter     TEXT    NOT NULL,
  event      TEXT    NOT NULL,
  priority   INTEGER NOT NULL,
  stage      TEXT    NOT NULL,
  message_id TEXT    NOT NULL,
  body       TEXT    NOT NULL,
  at         INTEGER NOT NULL,
  seen_at    INTEGER NOT NULL,
  due_at     INTEGER,
  attempts   INTEGER NOT NULL,
  problem    TEXT,
  status     INTEGER,
  sent_at    INTEGER
) STRICT;
