-- People and programs that may use the admin listener.
CREATE TABLE operators (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT    NOT NULL UNIQUE,
  role       TEXT    NOT NULL CHECK (role IN ('admin', 'viewer')),
  created_at INTEGER NOT NULL
) STRICT;

-- API keys of operators. Only the digest is stored. Every key expires.
CREATE TABLE admin_keys (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  operator_id  INTEGER NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  digest       TEXT    NOT NULL UNIQUE,
  created_at   INTEGER NOT NULL,
  ends_at      INTEGER NOT NULL,
  revoked_at   INTEGER,
  last_used_at INTEGER
) STRICT;

CREATE INDEX admin_keys_by_operator ON admin_keys (operator_id);

-- Codes of unused login links. Only the digest is stored.
CREATE TABLE login_codes (
  digest      TEXT    PRIMARY KEY,
  operator_id INTEGER NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  created_at  INTEGER NOT NULL,
  ends_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_codes_by_operator ON login_codes (operator_id);

-- Browser logins. Only the digest of the reference in the cookie is stored. Each use extends ends_at.
CREATE TABLE sessions (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  operator_id    INTEGER NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  digest         TEXT    NOT NULL UNIQUE,
  created_at     INTEGER NOT NULL,
  last_seen_at   INTEGER NOT NULL,
  ends_at        INTEGER NOT NULL,
  remote_address TEXT    NOT NULL,
  user_agent     TEXT    NOT NULL
) STRICT;

CREATE INDEX sessions_by_operator ON sessions (operator_id);

-- Answers that contain a new secret, for retries. Encrypted with a key that only the caller can derive (docs/adr/0023).
CREATE TABLE idempotency_keys (
  digest     TEXT    PRIMARY KEY,
  sealed     TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

-- Once the store has moved to another database, operators and admin keys are read-only like the registry (0006), because they
-- are copied. last_used_at may still change.
CREATE TRIGGER operator_not_added BEFORE INSERT ON operators WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER operator_not_changed BEFORE UPDATE ON operators WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER operator_not_removed BEFORE DELETE ON operators WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER admin_key_not_added BEFORE INSERT ON admin_keys WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER admin_key_not_changed BEFORE UPDATE OF id, operator_id, digest, created_at, ends_at, revoked_at ON admin_keys
  WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
CREATE TRIGGER admin_key_not_removed BEFORE DELETE ON admin_keys WHEN EXISTS (SELECT 1 FROM moved)
  BEGIN SELECT RAISE(ABORT, 'the store has moved to another database; token-server store reopen undoes that'); END;
