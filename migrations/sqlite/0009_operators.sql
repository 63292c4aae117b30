-- Who administers over the network: persons and programs.
CREATE TABLE operators (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT    NOT NULL UNIQUE,
  role       TEXT    NOT NULL CHECK (role IN ('admin', 'viewer')),
  created_at INTEGER NOT NULL
) STRICT;

-- What their programs prove who they are with: the digest only. Each one ends.
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

-- What a login link has, until it is used: the digest only.
CREATE TABLE login_codes (
  digest      TEXT    PRIMARY KEY,
  operator_id INTEGER NOT NULL REFERENCES operators (id) ON DELETE CASCADE,
  created_at  INTEGER NOT NULL,
  ends_at     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX login_codes_by_operator ON login_codes (operator_id);

-- Logins in a browser: of the reference in its cookie the digest only. ends_at moves on while a session is used.
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

-- Answers with a new secret, for who asks a second time: sealed with what only the asker has. docs/adr/0023.
CREATE TABLE idempotency_keys (
  digest     TEXT    PRIMARY KEY,
  sealed     TEXT    NOT NULL,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX idempotency_keys_by_time ON idempotency_keys (created_at);

-- While the store moves, operators and their keys stay as they are, as the registry does (0006): they are copied. When a key
-- was used last may change.
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
