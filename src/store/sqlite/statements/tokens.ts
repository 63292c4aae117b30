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

// What was used, and how often.

export const addTokenCount = `
  INSERT INTO token_counts (hour, application_id, issued, refused)
  VALUES (@hour, @applicationKey, @issued, @refused)
      ON CONFLICT DO UPDATE SET issued = issued + excluded.issued, refused = refused + excluded.refused
  RETURNING application_id AS applicationKey, hour, issued, refused`

export const countTokens = `
  SELECT issued FROM token_counts WHERE application_id = ? AND hour = ?`

export const listTokenCounts = `
  SELECT application_id AS applicationKey, hour, issued, refused
    FROM token_counts
   WHERE hour IN (SELECT value FROM json_each(@hours))
     AND application_id IN (SELECT value FROM json_each(@keys))`

export const purgeTokenCounts = `
  DELETE FROM token_counts
   WHERE (hour, application_id) IN (
     SELECT hour, application_id FROM token_counts WHERE hour < ? ORDER BY hour, application_id LIMIT ?)`

export const recordSecretUse = `
  INSERT INTO secret_uses (secret_id, last_used_at)
  SELECT id, @lastUsedAt FROM secrets WHERE id = @secretId
      ON CONFLICT DO UPDATE SET last_used_at = max(last_used_at, excluded.last_used_at)`

export const listSecretUses = `
  SELECT secret_id AS secretId, last_used_at AS lastUsedAt
    FROM secret_uses
   WHERE secret_id IN (SELECT value FROM json_each(?))`

export const recordApplicationUse = `
  INSERT INTO application_uses (application_id, last_token_at)
  SELECT id, @lastTokenAt FROM applications WHERE id = @applicationKey
      ON CONFLICT DO UPDATE SET last_token_at = max(last_token_at, excluded.last_token_at)`

export const lastTokenAt = `
  SELECT last_token_at FROM application_uses WHERE application_id = ?`

export const listApplicationUses = `
  SELECT application_id AS applicationKey, last_token_at AS lastTokenAt
    FROM application_uses
   WHERE application_id IN (SELECT value FROM json_each(?))`
