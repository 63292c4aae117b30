-- What operators add to applications and suites: labels (a JSON object of texts) and a note; and how many tokens an application
-- may get in an hour, NULL: TOKEN_QUOTA.
ALTER TABLE applications ADD COLUMN labels TEXT NOT NULL DEFAULT '{}' CHECK (json_type(labels) = 'object');
ALTER TABLE applications ADD COLUMN note TEXT NOT NULL DEFAULT '';
ALTER TABLE applications ADD COLUMN quota INTEGER CHECK (quota > 0);
ALTER TABLE suites ADD COLUMN labels TEXT NOT NULL DEFAULT '{}' CHECK (json_type(labels) = 'object');
ALTER TABLE suites ADD COLUMN note TEXT NOT NULL DEFAULT '';

-- The views of 0010 with these columns.
DROP VIEW applications_as_json;
DROP VIEW suites_as_json;

CREATE VIEW applications_as_json AS
SELECT a.id, a.client_id, a.name,
       json_object(
         'key', a.id,
         'clientId', a.client_id,
         'name', a.name,
         'developerEmail', a.developer_email,
         'status', a.status,
         'tokenGeneration', a.token_generation,
         'tokensValidFrom', a.tokens_valid_from,
         'createdAt', a.created_at,
         'labels', json(a.labels),
         'note', a.note,
         'quota', a.quota,
         'suites', json((
           SELECT json_group_array(s.suite_id ORDER BY s.id)
             FROM approvals p
             JOIN suites s ON s.id = p.suite_id
            WHERE p.application_id = a.id)),
         'secrets', json((
           SELECT json_group_array(
                    json_object(
                      'id', s.id,
                      'digest', s.digest,
                      'createdAt', s.created_at,
                      'endsAt', s.ends_at,
                      'revokedAt', s.revoked_at)
                    ORDER BY s.id)
             FROM secrets s
            WHERE s.application_id = a.id))) AS json
  FROM applications a;

CREATE VIEW suites_as_json AS
SELECT u.id, u.suite_id,
       json_object(
         'key', u.id,
         'suiteId', u.suite_id,
         'name', u.name,
         'createdAt', u.created_at,
         'labels', json(u.labels),
         'note', u.note,
         'secrets', json((
           SELECT json_group_array(
                    json_object(
                      'id', s.id,
                      'digest', s.digest,
                      'createdAt', s.created_at,
                      'endsAt', s.ends_at,
                      'revokedAt', s.revoked_at)
                    ORDER BY s.id)
             FROM secrets s
            WHERE s.suite_id = u.id))) AS json
  FROM suites u;
