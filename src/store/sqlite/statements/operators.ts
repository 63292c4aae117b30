// Operators and their credentials. An operator is read with keys and sessions as one JSON text with the field names of the
// domain type; digests never leave the database.

const OPERATOR = `
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
              WHERE c.operator_id = o.id)))`

export const findOperator = `
  SELECT ${OPERATOR} FROM operators o WHERE o.name = ?`

export const listOperators = `
  SELECT ${OPERATOR} FROM operators o ORDER BY o.id`

export const findAdminKey = `
  SELECT k.id, ${OPERATOR} AS operator FROM admin_keys k JOIN operators o ON o.id = k.operator_id WHERE k.digest = ?`

export const findSession = `
  SELECT s.id, ${OPERATOR} AS operator FROM sessions s JOIN operators o ON o.id = s.operator_id WHERE s.digest = ?`

export const findLoginCode = `
  SELECT o.name AS operator, c.created_at AS createdAt, c.ends_at AS endsAt
    FROM login_codes c
    JOIN operators o ON o.id = c.operator_id
   WHERE c.digest = ?`

export const insertOperator = `
  INSERT INTO operators (name, role, created_at) VALUES (@name, @role, @createdAt) ON CONFLICT DO NOTHING`

export const deleteOperator = `
  DELETE FROM operators WHERE name = ?`

export const insertAdminKey = `
  INSERT INTO admin_keys (operator_id, digest, created_at, ends_at)
  SELECT id, @digest, @createdAt, @endsAt FROM operators WHERE name = @name
  RETURNING id`

export const revokeAdminKey = `
  UPDATE admin_keys
     SET revoked_at = coalesce(revoked_at, @at)
   WHERE id = @id AND operator_id = (SELECT id FROM operators WHERE name = @name)`

export const insertLoginCode = `
  INSERT INTO login_codes (digest, operator_id, created_at, ends_at)
  SELECT @digest, id, @createdAt, @endsAt FROM operators WHERE name = @name`

export const useLoginCode = `
  DELETE FROM login_codes
   WHERE digest = @codeDigest AND operator_id = (SELECT id FROM operators WHERE name = @name)
  RETURNING operator_id`

export const insertSession = `
  INSERT INTO sessions (operator_id, digest, created_at, last_seen_at, ends_at, remote_address, user_agent)
  VALUES (@operatorId, @digest, @createdAt, @createdAt, @endsAt, @remoteAddress, @userAgent)
  RETURNING id`

export const deleteSession = `
  DELETE FROM sessions WHERE id = ? AND operator_id = (SELECT id FROM operators WHERE name = ?)`

export const recordAdminKeyUse = `
  UPDATE admin_keys SET last_used_at = max(ifnull(last_used_at, 0), @at) WHERE id = @id`

export const recordSessionUse = `
  UPDATE sessions
     SET last_seen_at = max(last_seen_at, @lastSeenAt), ends_at = max(ends_at, @endsAt)
   WHERE id = @id`

export const deleteSessions = `
  DELETE FROM sessions`

export const deleteLoginCodes = `
  DELETE FROM login_codes`

export const purgeLoginCodes = `
  DELETE FROM login_codes WHERE ends_at <= ?`

export const purgeSessions = `
  DELETE FROM sessions WHERE ends_at <= ? OR last_seen_at > ?`
