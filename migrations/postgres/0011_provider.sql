-- Operators who sign in with the company's identity provider have issuer and subject as their name, and an email address for
-- people to read. NULL: added by a command.
ALTER TABLE operators ADD COLUMN email text;

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

-- The first release that runs on a newer schema than it knows. 0.1.0, from before `compatibility`, refuses every newer one.
UPDATE compatibility SET oldest_program = '1.0.0';
