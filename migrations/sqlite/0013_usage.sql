-- What each application and each suite (owner_id: its id with a minus) did, and all clients together (0), also those that are not
-- registered, in spans of five minutes, an hour and a day: for people. Written in the background once a minute. By time first,
-- because rows that are written together are then side by side. No foreign key: rows of removed owners are purged with the old ones.
CREATE TABLE usage_counts (
  span     INTEGER NOT NULL,
  since    INTEGER NOT NULL,
  owner_id INTEGER NOT NULL,
  tokens   INTEGER NOT NULL,
  checks   INTEGER NOT NULL,
  refusals INTEGER NOT NULL,
  PRIMARY KEY (span, since, owner_id)
) STRICT, WITHOUT ROWID;
