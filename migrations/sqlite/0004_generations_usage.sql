-- Revoke-all counts up its application's generation. A token has the generation in which it was issued, and is revoked when
-- that is over: no clock decides. docs/adr/0013.
ALTER TABLE applications ADD COLUMN token_generation INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;

-- Until now a token was revoked by the time of the last revoke-all. An id begins with the time of issue, so only the rows
-- before the last of these times are read.
UPDATE tokens
   SET revoked_at = (SELECT a.tokens_valid_from FROM applications a WHERE a.id = tokens.application_id)
 WHERE id < unhex(printf('%012x', (SELECT ifnull(max(tokens_valid_from), 0) FROM applications)))
   AND revoked_at IS NULL
   AND issued_at < (SELECT a.tokens_valid_from FROM applications a WHERE a.id = tokens.application_id);

-- A secret that an operator has revoked is refused whatever its end and the clock. ends_at is set too.
ALTER TABLE secrets ADD COLUMN revoked_at INTEGER;

-- Also for how many imported secrets an application has.
DROP INDEX secrets_imported;
CREATE INDEX secrets_imported ON secrets (application_id, revoked_at) WHERE digest GLOB '$scrypt$*';

-- What was used, and how often: for people, and for TOKEN_QUOTA. Written in the background once a minute. Without triggers,
-- for nothing of it is cached.
CREATE TABLE secret_uses (
  secret_id    INTEGER PRIMARY KEY REFERENCES secrets (id) ON DELETE CASCADE,
  last_used_at INTEGER NOT NULL
) STRICT;

CREATE TABLE application_uses (
  application_id INTEGER PRIMARY KEY REFERENCES applications (id) ON DELETE CASCADE,
  last_token_at  INTEGER NOT NULL
) STRICT;

-- Old hours are purged, those of removed applications with them.
CREATE TABLE token_counts (
  hour           INTEGER NOT NULL,
  application_id INTEGER NOT NULL,
  issued         INTEGER NOT NULL,
  refused        INTEGER NOT NULL,
  PRIMARY KEY (hour, application_id)
) STRICT, WITHOUT ROWID;
