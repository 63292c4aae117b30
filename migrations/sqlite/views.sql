-- Applications, suites and operators as the program reads them: each with all that belongs to it, as one JSON text under the
-- names of domain/. That is parsed faster than rows of many columns are read (docs/performance.md). Digests of operators'
-- credentials are left out. Made anew after the last migration, whenever there is a new one.
--
-- Arrays are in the order of a subquery, which SQLite keeps: before 3.44 it could not open a database with an ORDER BY inside of
-- json_group_array.

DROP VIEW IF EXISTS applications_as_json;
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
         'managedBy', a.managed_by,
         'appliedAt', a.applied_at,
         'quota', a.quota,
         'sourceAddresses', json(a.source_addresses),
         'publicLabels', json(a.public_labels),
         'reportOnly', json(a.report_only),
         'suites', json((
           SELECT json_group_array(s.suite_id)
             FROM (SELECT s.suite_id
                     FROM approvals p
                     JOIN suites s ON s.id = p.suite_id
                    WHERE p.application_id = a.id
                    ORDER BY p.suite_id) s)),
         'secrets', json((
           SELECT json_group_array(
                    json_object(
                      'id', s.id,
                      'digest', s.digest,
                      'createdAt', s.created_at,
                      'endsAt', s.ends_at,
                      'revokedAt', s.revoked_at,
                      'federated', json(s.federated)))
             FROM (SELECT * FROM secrets WHERE application_id = a.id ORDER BY id) s))) AS json
  FROM applications a;

DROP VIEW IF EXISTS suites_as_json;
CREATE VIEW suites_as_json AS
SELECT u.id, u.suite_id,
       json_object(
         'key', u.id,
         'suiteId', u.suite_id,
         'name', u.name,
         'url', u.url,
         'createdAt', u.created_at,
         'labels', json(u.labels),
         'note', u.note,
         'managedBy', u.managed_by,
         'appliedAt', u.applied_at,
         'secrets', json((
           SELECT json_group_array(
                    json_object(
                      'id', s.id,
                      'digest', s.digest,
                      'createdAt', s.created_at,
                      'endsAt', s.ends_at,
                      'revokedAt', s.revoked_at,
                      'federated', json(s.federated)))
             FROM (SELECT * FROM secrets WHERE suite_id = u.id ORDER BY id) s))) AS json
  FROM suites u;

DROP VIEW IF EXISTS operators_as_json;
CREATE VIEW operators_as_json AS
SELECT o.id, o.name,
       json_object(
         'key', o.id,
         'name', o.name,
         'role', o.role,
         'email', o.email,
         'createdAt', o.created_at,
         'keys', json((
           SELECT json_group_array(
                    json_object(
                      'id', k.id,
                      'createdAt', k.created_at,
                      'endsAt', k.ends_at,
                      'revokedAt', k.revoked_at,
                      'lastUsedAt', k.last_used_at))
             FROM (SELECT * FROM admin_keys WHERE operator_id = o.id ORDER BY id) k)),
         'sessions', json((
           SELECT json_group_array(
                    json_object(
                      'id', s.id,
                      'createdAt', s.created_at,
                      'lastSeenAt', s.last_seen_at,
                      'endsAt', s.ends_at,
                      'authenticatedAt', s.authenticated_at,
                      'remoteAddress', s.remote_address,
                      'userAgent', s.user_agent))
             FROM (SELECT * FROM sessions WHERE operator_id = o.id ORDER BY id) s)),
         'loginLinks', json((
           SELECT json_group_array(json_object('createdAt', c.created_at, 'endsAt', c.ends_at))
             FROM (SELECT * FROM login_codes WHERE operator_id = o.id ORDER BY created_at, digest) c))) AS json
  FROM operators o;

-- Apart from applications_as_json, which token requests read.
DROP VIEW IF EXISTS hand_over_links_as_json;
CREATE VIEW hand_over_links_as_json AS
SELECT a.client_id,
       (SELECT json_group_array(
                 json_object(
                   'id', h.id,
                   'madeBy', h.made_by,
                   'createdAt', h.created_at,
                   'endsAt', h.ends_at,
                   'overlapSeconds', h.overlap_seconds))
          FROM (SELECT * FROM hand_over_links WHERE application_id = a.id ORDER BY id) h) AS json
  FROM applications a;
