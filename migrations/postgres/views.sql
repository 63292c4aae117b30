-- The same views as in migrations/sqlite. Replaced and not dropped: so they keep the rights of other roles.

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
         'managedBy', a.managed_by,
         'appliedAt', a.applied_at,
         'quota', a.quota,
         'sourceAddresses', a.source_addresses::json,
         'publicLabels', a.public_labels::json,
         'reportOnly', a.report_only::json,
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
                      'revokedAt', s.revoked_at,
                      'federated', s.federated::json)
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
         'url', u.url,
         'createdAt', u.created_at,
         'labels', u.labels::json,
         'note', u.note,
         'managedBy', u.managed_by,
         'appliedAt', u.applied_at,
         'secrets', (
           SELECT coalesce(json_agg(
                    json_build_object(
                      'id', s.id,
                      'digest', s.digest,
                      'createdAt', s.created_at,
                      'endsAt', s.ends_at,
                      'revokedAt', s.revoked_at,
                      'federated', s.federated::json)
                    ORDER BY s.id), '[]')
             FROM secrets s
            WHERE s.suite_id = u.id))::text AS json
  FROM suites u;

CREATE OR REPLACE VIEW operators_as_json AS
SELECT o.id, o.name,
       json_build_object(
         'key', o.id,
         'name', o.name,
         'role', o.role,
         'email', o.email,
         'createdAt', o.created_at,
         'keys', (
           SELECT coalesce(json_agg(
                    json_build_object(
                      'id', k.id,
                      'createdAt', k.created_at,
                      'endsAt', k.ends_at,
                      'revokedAt', k.revoked_at,
                      'lastUsedAt', k.last_used_at)
                    ORDER BY k.id), '[]')
             FROM admin_keys k
            WHERE k.operator_id = o.id),
         'sessions', (
           SELECT coalesce(json_agg(
                    json_build_object(
                      'id', s.id,
                      'createdAt', s.created_at,
                      'lastSeenAt', s.last_seen_at,
                      'endsAt', s.ends_at,
                      'authenticatedAt', s.authenticated_at,
                      'remoteAddress', s.remote_address,
                      'userAgent', s.user_agent)
                    ORDER BY s.id), '[]')
             FROM sessions s
            WHERE s.operator_id = o.id),
         'loginLinks', (
           SELECT coalesce(json_agg(
                    json_build_object('createdAt', c.created_at, 'endsAt', c.ends_at)
                    ORDER BY c.created_at, c.digest), '[]')
             FROM login_codes c
            WHERE c.operator_id = o.id))::text AS json
  FROM operators o;

-- Apart from applications_as_json, which token requests read.
CREATE OR REPLACE VIEW hand_over_links_as_json AS
SELECT a.client_id,
       (SELECT coalesce(json_agg(
                 json_build_object(
                   'id', h.id,
                   'madeBy', h.made_by,
                   'createdAt', h.created_at,
                   'endsAt', h.ends_at,
                   'overlapSeconds', h.overlap_seconds)
                 ORDER BY h.id), '[]')
          FROM hand_over_links h
         WHERE h.application_id = a.id)::text AS json
  FROM applications a;
