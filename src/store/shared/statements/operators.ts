// Operators and their credentials. Digests never leave the database.

export const readOperators = 'SELECT name, json FROM operators_as_json WHERE name IN (SELECT value FROM texts_of($1))'
export const listOperators = 'SELECT json FROM operators_as_json ORDER BY id'

export const findAdminKey = `
  SELECT k.id, o.json FROM admin_keys k JOIN operators_as_json o ON o.id = k.operator_id WHERE k.digest = $1`

export const findSession = `
  SELECT s.id, o.json FROM sessions s JOIN operators_as_json o ON o.id = s.operator_id WHERE s.digest = $1`

export const findLoginCode = `
  SELECT o.name, c.created_at, c.ends_at FROM login_codes c JOIN operators o ON o.id = c.operator_id WHERE c.digest = $1`

export const insertOperator = `
  INSERT INTO operators (name, role, email, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`

export const updateOperator = 'UPDATE operators SET role = $2, email = $3 WHERE name = $1'

// A session that somebody left alone as a viewer must not become an admin's.
export const deleteSessionsOfOtherRole = `
  DELETE FROM sessions WHERE operator_id = (SELECT id FROM operators WHERE name = $1 AND role <> $2)`

export const deleteOperator = 'DELETE FROM operators WHERE name = $1'

export const insertAdminKey = `
  INSERT INTO admin_keys (operator_id, digest, created_at, ends_at)
  SELECT id, $2, $3, $4 FROM operators WHERE name = $1
  RETURNING id`

export const revokeAdminKey = `
  UPDATE admin_keys
     SET revoked_at = coalesce(revoked_at, $3)
   WHERE id = $2 AND operator_id = (SELECT id FROM operators WHERE name = $1)`

export const insertLoginCode = `
  INSERT INTO login_codes (digest, operator_id, created_at, ends_at)
  SELECT $2, id, $3, $4 FROM operators WHERE name = $1`

// Of two concurrent logins with one code, the second one waits for the lock and then finds the row gone.
export const deleteLoginCode = `
  DELETE FROM login_codes
   WHERE digest = $2 AND operator_id = (SELECT id FROM operators WHERE name = $1)
  RETURNING operator_id`

export const insertSession = `
  INSERT INTO sessions (operator_id, digest, created_at, last_seen_at, ends_at, remote_address, user_agent, authenticated_at)
  SELECT id, $2, $3, $3, $4, $5, $6, $7 FROM operators WHERE name = $1
  RETURNING id`

export const deleteSession = `
  DELETE FROM sessions WHERE id = $2 AND operator_id = (SELECT id FROM operators WHERE name = $1)`

export const recordAdminKeyUse = `
  UPDATE admin_keys SET last_used_at = CASE WHEN last_used_at > $2 THEN last_used_at ELSE $2 END WHERE id = $1`

export const recordSessionUse = `
  UPDATE sessions
     SET last_seen_at = CASE WHEN last_seen_at > $2 THEN last_seen_at ELSE $2 END,
         ends_at = CASE WHEN ends_at > $3 THEN ends_at ELSE $3 END
   WHERE id = $1`

export const recordRefusedSignIn = `
  INSERT INTO refused_sign_in (id, at, why) VALUES (1, $1, $2)
      ON CONFLICT (id) DO UPDATE SET at = excluded.at, why = excluded.why`
