-- The last refusals of each application, of each suite (owner_id: its id with a minus), and of client ids that are not
-- registered (0): for people who look for the reason. Written in the background. Those of one client, reason, endpoint, suite
-- ('' where there is none) and address are one row. No foreign key: rows of removed owners are purged with the old ones.
CREATE TABLE refusals (
  owner_id       INTEGER NOT NULL,
  client_id      TEXT    NOT NULL,
  reason         TEXT    NOT NULL,
  endpoint       TEXT    NOT NULL,
  suite          TEXT    NOT NULL,
  remote_address TEXT    NOT NULL,
  count          INTEGER NOT NULL,
  first_at       INTEGER NOT NULL,
  last_at        INTEGER NOT NULL,
  request_id     TEXT,
  trace_id       TEXT,
  PRIMARY KEY (owner_id, client_id, reason, endpoint, suite, remote_address)
) STRICT;

CREATE INDEX refusals_by_time ON refusals (last_at);

-- When the last backup was made: one row, or none.
CREATE TABLE backups (
  made_at INTEGER NOT NULL
) STRICT;

-- For how many secrets end soon: most have no end.
CREATE INDEX secrets_ending ON secrets (ends_at) WHERE ends_at IS NOT NULL;
