-- Applications, suites and operators as the program reads them: each with all that belongs to it, as one JSON text under the
-- names of domain/. That is parsed faster than rows of many columns are read (docs/performance.md). Digests of operators'
-- credentials are left out. A migration that adds a column makes its view anew.
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

CREATE VIEW operators_as_json AS
SELECT o.id, o.name,
       json_object(
         'key', o.id,
         'name', o.name,
         'role', o.role,
         'createdAt', o.created_at,
         'keys', json((
           SELECT json_group_array(
                    json_object(
                      'id', k.id,
                      'createdAt', k.created_at,
                      'endsAt', k.ends_at,
                      'revokedAt', k.revoked_at,
                      'lastUsedAt', k.last_used_at)
                    ORDER BY k.id)
             FROM admin_keys k
            WHERE k.operator_id = o.id)),
         'sessions', json((
           SELECT json_group_array(
                    json_object(
                      'id', s.id,
                      'createdAt', s.created_at,
                      'lastSeenAt', s.last_seen_at,
                      'endsAt', s.ends_at,
                      'remoteAddress', s.remote_address,
                      'userAgent', s.user_agent)
                    ORDER BY s.id)
             FROM sessions s
            WHERE s.operator_id = o.id)),
         'loginLinks', json((
           SELECT json_group_array(
                    json_object('createdAt', c.created_at, 'endsAt', c.ends_at)
                    ORDER BY c.created_at, c.digest)
             FROM login_codes c
            WHERE c.operator_id = o.id))) AS json
  FROM operators o;
