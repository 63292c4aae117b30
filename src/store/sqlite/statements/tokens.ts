// Tokens.

export const insertToken = `
  INSERT INTO tokens (id, secret_hash, application_id, generation, issued_at) VALUES (?, ?, ?, ?, ?)`

export const findToken = `
  SELECT secret_hash, application_id, generation, issued_at, revoked_at FROM tokens WHERE id = ?`

export const revokeToken = `
  UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL`

export const purgeTokens = `
  DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE id < ? ORDER BY id LIMIT ?)`

export const deleteTokens = `
  DELETE FROM tokens`
