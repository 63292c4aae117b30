// Operators and their credentials. An operator is read with keys and sessions as one JSON text with the field names of the
// domain type; digests never leave the database.

const OPERATOR = `
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
              WHERE c.operator_id = o.id))::text`

export const findOperator = `
  SELECT ${OPERATOR} FROM operators o WHERE o.name = ANY ($1::text[])`

export const readOperators = `
  SELECT 'operator', o.name, ${OPERATOR} FROM operators o WHERE o.name = ANY ($1::text[])`

export const listOperators = `
  SELECT ${OPERATOR} FROM operators o ORDER BY o.id`

export const findAdminKey = `
  SELECT k.id, ${OPERATOR} FROM admin_keys k JOIN operators o ON o.id = k.operator_id WHERE k.digest = $1`

export const findSession = `
  SELECT s.id, ${OPERATOR} FROM sessions s JOIN operators o ON o.id = s.operator_id WHERE s.digest = $1`

export const findLoginCode = `
  SELECT o.name, c.created_at, c.ends_at FROM login_codes c JOIN operators o ON o.id = c.operator_id WHERE c.digest = $1`

export const insertOperator = `
  INSERT INTO operators (name, role, created_at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING RETURNING id`

export const deleteOperator = `
  DELETE FROM operators WHERE name = $1 RETURNING id`

export const insertAdminKey = `
  INSERT INTO admin_keys (operator_id, digest, created_at, ends_at)
  SELECT id, $2, $3, $4 FROM operators WHERE name = $1
  RETURNING id`

export const revokeAdminKey = `
  UPDATE admin_keys
     SET revoked_at = coalesce(revoked_at, $3)
   WHERE id = $2 AND operator_id = (SELECT id FROM operators WHERE name = $1)
  RETURNING id`

export const insertLoginCode = `
  INSERT INTO login_codes (digest, operator_id, created_at, ends_at)
  SELECT $2, id, $3, $4 FROM operators WHERE name = $1
  RETURNING digest`

// Of two concurrent logins with one code, the second waits for the row lock and then finds the row gone.
export const beginSession = `
  WITH used AS (
    DELETE FROM login_codes
     WHERE digest = $2 AND operator_id = (SELECT id FROM operators WHERE name = $1)
    RETURNING operator_id
  )
  INSERT INTO sessions (operator_id, digest, created_at, last_seen_at, ends_at, remote_address, user_agent)
  SELECT operator_id, $3, $4::bigint, $4::bigint, $5::bigint, $6, $7 FROM used
  RETURNING id`

export const deleteSession = `
  DELETE FROM sessions WHERE id = $2 AND operator_id = (SELECT id FROM operators WHERE name = $1) RETURNING id`

export const recordAdminKeyUse = `
  UPDATE admin_keys SET last_used_at = greatest(last_used_at, $2) WHERE id = $1`

export const recordSessionUse = `
  UPDATE sessions SET last_seen_at = greatest(last_seen_at, $2), ends_at = greatest(ends_at, $3) WHERE id = $1`

// SKIP LOCKED leaves rows that are being changed to the next purge.
export const purgeSignIns = `
  WITH codes AS (
    DELETE FROM login_codes
     WHERE digest IN (SELECT digest FROM login_codes WHERE ends_at <= $1 FOR UPDATE SKIP LOCKED)
  )
  DELETE FROM sessions
   WHERE id IN (SELECT id FROM sessions WHERE ends_at <= $1 OR last_seen_at > $2 FOR UPDATE SKIP LOCKED)`
