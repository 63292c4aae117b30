-- Federated credentials are secrets whose proof is a JWT of a platform. `federated`: what it must have, as JSON. `keys_from`: its
-- issuer, if the keys are fetched from there. An older program takes such a row for a secret that nobody presents.
ALTER TABLE secrets ADD COLUMN federated TEXT;
ALTER TABLE secrets ADD COLUMN keys_from TEXT;

CREATE INDEX secrets_by_keys_from ON secrets (keys_from) WHERE keys_from IS NOT NULL;

-- The keys of these issuers as they were last fetched (JSON), for all processes. It is fetched by the one that sets `tried_at`, and
-- over when `answered_at` follows. `problem`: why the last attempt failed.
CREATE TABLE federated_issuers (
  issuer      TEXT    PRIMARY KEY,
  keys        TEXT,
  fetched_at  INTEGER,
  tried_at    INTEGER NOT NULL,
  answered_at INTEGER,
  problem     TEXT
) STRICT;

-- What exactly was wrong with the last request, such as the claim of a JWT that did not match. Never a secret.
ALTER TABLE refusals ADD COLUMN detail TEXT;
ALTER TABLE refused_requests ADD COLUMN detail TEXT;
