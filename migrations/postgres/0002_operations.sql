-- Before the index on secrets: a check locks this table first, too.
LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;

-- The last refusals of each application, of each suite (owner_id: its id with a minus), and of client ids that are not
-- registered (0): for people who look for the reason. Written in the background. Those of one client, reason, endpoint, suite
-- ('' where there is none) and address are one row. No foreign key: rows of removed owners are purged with the old ones.
CREATE TABLE refusals (
  owner_id       bigint NOT NULL,
  client_id      text COLLATE "C" NOT NULL,
  reason         text COLLATE "C" NOT NULL,
  endpoint       text COLLATE "C" NOT NULL,
  suite          text COLLATE "C" NOT NULL,
  remote_address text COLLATE "C" NOT NULL,
  count          bigint NOT NULL,
  first_at       bigint NOT NULL,
  last_at        bigint NOT NULL,
  request_id     text,
  trace_id       text,
  PRIMARY KEY (owner_id, client_id, reason, endpoint, suite, remote_address)
);

CREATE INDEX refusals_by_time ON refusals (last_at);

-- When the last backup was made: one row, or none. Only SQLite's are made by this program.
CREATE TABLE backups (
  made_at bigint NOT NULL
);

-- For how many secrets end soon: most have no end.
CREATE INDEX secrets_ending ON secrets (ends_at) WHERE ends_at IS NOT NULL;
