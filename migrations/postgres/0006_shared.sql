-- The same views as in migrations/sqlite: applications, suites and operators, each with all that belongs to it, as one JSON
-- text under the names of domain/. Digests of operators' credentials are left out.
CREATE VIEW applications_as_json AS
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

CREATE VIEW suites_as_json AS
SELECT u.id, u.suite_id,
       json_build_object(
         'key', u.id,
         'suiteId', u.suite_id,
         'name', u.name,
         'createdAt', u.created_at,
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

CREATE VIEW operators_as_json AS
SELECT o.id, o.name,
       json_build_object(
         'key', o.id,
         'name', o.name,
         'role', o.role,
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

-- One row for each element of a JSON array: lists of names, keys or new rows in statements that both databases understand. For
-- the planner they have few elements, so that each is looked up in an index; the functions that they call would be taken for
-- a hundred, for which it reads all rows of a table that is not large.
CREATE FUNCTION texts_of(list json) RETURNS TABLE (value text) LANGUAGE plpgsql IMMUTABLE ROWS 1 AS $$
BEGIN
  RETURN QUERY SELECT element.* FROM json_array_elements_text(list) element;
END $$;

CREATE FUNCTION rows_of(list json) RETURNS TABLE (value json) LANGUAGE plpgsql IMMUTABLE ROWS 1 AS $$
BEGIN
  RETURN QUERY SELECT element.* FROM json_array_elements(list) element;
END $$;
