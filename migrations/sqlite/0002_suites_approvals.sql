-- The resource servers: who may ask about tokens.
CREATE TABLE suites (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  suite_id   TEXT    NOT NULL UNIQUE,
  name       TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;

-- Which application may use which suite.
CREATE TABLE approvals (
  application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
  suite_id       INTEGER NOT NULL REFERENCES suites (id) ON DELETE CASCADE,
  PRIMARY KEY (application_id, suite_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX approvals_by_suite ON approvals (suite_id);

-- A secret now belongs to an application or to a suite. SQLite cannot drop a NOT NULL, so the table is recreated.
CREATE TABLE secrets_of_both (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  application_id INTEGER REFERENCES applications (id) ON DELETE CASCADE,
  suite_id       INTEGER REFERENCES suites (id) ON DELETE CASCADE,
  digest         TEXT    NOT NULL,
  created_at     INTEGER NOT NULL,
  ends_at        INTEGER,
  CHECK ((application_id IS NULL) <> (suite_id IS NULL))
) STRICT;

INSERT INTO secrets_of_both (id, application_id, digest, created_at, ends_at)
SELECT id, application_id, digest, created_at, ends_at FROM secrets;

DROP TABLE secrets;
ALTER TABLE secrets_of_both RENAME TO secrets;

CREATE INDEX secrets_by_application ON secrets (application_id);
CREATE INDEX secrets_by_suite ON secrets (suite_id);
CREATE INDEX secrets_imported ON secrets (id) WHERE digest GLOB '$scrypt$*';
