-- The latest report of each server that shares this database, for the overview of the console. Written in the background by
-- servers with an admin listener. The id is new at each start. Not in SQLite, which serves one machine.
CREATE TABLE nodes (
  id               uuid PRIMARY KEY,
  name             text COLLATE "C" NOT NULL,
  version          text NOT NULL,
  started_at       bigint NOT NULL,
  last_seen_at     bigint NOT NULL,
  workers_expected bigint NOT NULL,
  workers_serving  bigint NOT NULL,
  tokens           bigint NOT NULL,
  checks           bigint NOT NULL,
  refusals         bigint NOT NULL
);
