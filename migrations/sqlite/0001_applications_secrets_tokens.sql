-- The clients: who may ask for tokens. An id is never used twice (AUTOINCREMENT), so a token of a removed application
-- cannot become valid again with the next one.
CREATE TABLE applications (
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  client_id         TEXT    NOT NULL UNIQUE,
  name              TEXT    NOT NULL,
  developer_email   TEXT    NOT NULL,
  status            TEXT    NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  tokens_valid_from INTEGER NOT NULL DEFAULT 0,
  created_at        INTEGER NOT NULL
) STRICT;

CREATE INDEX applications_by_name ON applications (name, developer_email);

-- What proves that a caller is an application: one row per secret, its digest only.
CREATE TABLE secrets (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  application_id INTEGER NOT NULL REFERENCES applications (id) ON DELETE CASCADE,
  digest         TEXT    NOT NULL,
  created_at     INTEGER NOT NULL,
  ends_at        INTEGER
) STRICT;

CREATE INDEX secrets_by_application ON secrets (application_id);
CREATE INDEX secrets_imported ON secrets (id) WHERE digest GLOB '$scrypt$*';

-- Valid tokens, and expired ones until the purge deletes them. The id is a UUIDv7: rows are appended at the end of
-- the primary key and expired ones are its beginning, so there is no second index. A foreign key to applications would
-- need one.
CREATE TABLE tokens (
  id             BLOB    PRIMARY KEY,
  secret_hash    BLOB    NOT NULL,
  application_id INTEGER NOT NULL,
  issued_at      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
