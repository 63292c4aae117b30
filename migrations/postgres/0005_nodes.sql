-- The servers that share this database, as each has told last: for the overview of the console. Written in the background by
-- those with an admin listener. The id is drawn anew at each start. Not in SQLite, which serves one machine.
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
