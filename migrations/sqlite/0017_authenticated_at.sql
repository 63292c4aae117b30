-- When the operator of a session proved who it is: opened a link, or authenticated at the identity provider. NULL: the provider
-- does not say, or an older program began the session.
ALTER TABLE sessions ADD COLUMN authenticated_at INTEGER;

DROP VIEW operators_as_json;
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
                      'authenticatedAt', s.authenticated_at,
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
