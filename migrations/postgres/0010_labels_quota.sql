-- Before the other tables: a check locks this table first, too.
LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;

-- What operators add to applications and suites: labels (a JSON object of texts) and a note; and how many tokens an application
-- may get in an hour, NULL: TOKEN_QUOTA.
ALTER TABLE applications
  ADD COLUMN labels text COLLATE "C" NOT NULL DEFAULT '{}' CHECK (json_typeof(labels::json) = 'object'),
  ADD COLUMN note   text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN quota  bigint CHECK (quota > 0);
ALTER TABLE suites
  ADD COLUMN labels text COLLATE "C" NOT NULL DEFAULT '{}' CHECK (json_typeof(labels::json) = 'object'),
  ADD COLUMN note   text COLLATE "C" NOT NULL DEFAULT '';

-- The views of 0006 with these columns.
CREATE OR REPLACE VIEW applications_as_json AS
SELECT a.id, a.client_id, a.name,
       json_build_object(
         'key', a.id,
         'clientId', a.client_id,
         'name', a.name,
         'developerEmail', a.developer_email,
         'status', a.status,
         'tokenGeneration', a.token_generation,
         'tokensValidFrom', a.tokens_valid_from,
         'createdAt', a.created_at,
         'labels', a.labels::json,
         'note', a.note,
         'quota', a.quota,
         'suites', (
           SELECT coalesce(json_agg(s.suite_id ORDER BY s.id), '[]')
             FROM approvals p
             JOIN suites s ON s.id = p.suite_id
            WHERE p.application_id = a.id),
         'secrets', (
           SELECT coalesce(json_agg(
                    json_build_object(
                      'id', s.id,
                      'digest', s.digest,
                      'createdAt', s.created_at,
                      'endsAt', s.ends_at,
                      'revokedAt', s.revoked_at)
                    ORDER BY s.id), '[]')
             FROM secrets s
            WHERE s.application_id = a.id))::text AS json
  FROM applications a;

CREATE OR REPLACE VIEW suites_as_json AS
SELECT u.id, u.suite_id,
       json_build_object(
         'key', u.id,
         'suiteId', u.suite_id,
         'name', u.name,
         'createdAt', u.created_at,
         'labels', u.labels::json,
         'note', u.note,
         'secrets', (
           SELECT coalesce(json_agg(
                    json_build_object(
                      'id', s.id,
                      'digest', s.digest,
                      'createdAt', s.created_at,
                      'endsAt', s.ends_at,
                      'revokedAt', s.revoked_at)
                    ORDER BY s.id), '[]')
             FROM secrets s
            WHERE s.suite_id = u.id))::text AS json
  FROM suites u;
