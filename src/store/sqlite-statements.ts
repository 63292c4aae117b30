// Every statement that the SQLite store sends, whole.

export const findApplication = `
  SELECT a.id, a.client_id, a.name, a.developer_email, a.status, a.tokens_valid_from, a.created_at,
         s.id AS secret_id, s.application_id, s.digest, s.created_at AS secret_created_at, s.ends_at
    FROM applications a
    LEFT JOIN secrets s ON s.application_id = a.id
   WHERE a.client_id = ?
   ORDER BY s.id`

export const listApplications = `
  SELECT id, client_id, name, developer_email, status, tokens_valid_from, created_at
    FROM applications
   ORDER BY id`

export const listSecrets = `
  SELECT id AS secret_id, application_id, digest, created_at AS secret_created_at, ends_at
    FROM secrets
   ORDER BY id`

export const insertApplication = `
  INSERT INTO applications (client_id, name, developer_email, created_at)
  SELECT @client_id, @name, @developer_email, @created_at
   WHERE NOT (@unique_name AND EXISTS (
           SELECT 1 FROM applications WHERE name = @name AND developer_email = @developer_email))
      ON CONFLICT (client_id) DO NOTHING`

export const insertSecret = `
  INSERT INTO secrets (application_id, digest, created_at) VALUES (?, ?, ?)`

export const setStatus = `
  UPDATE applications SET status = ? WHERE client_id = ?`

export const deleteApplication = `
  DELETE FROM applications WHERE client_id = ?`

export const revokeTokens = `
  UPDATE applications SET tokens_valid_from = max(tokens_valid_from, ?) WHERE client_id = ?`

export const forgetEndedSecrets = `
  DELETE FROM secrets
   WHERE ends_at < ?
     AND application_id = (SELECT id FROM applications WHERE client_id = ?)`

export const endSecrets = `
  UPDATE secrets SET ends_at = min(ifnull(ends_at, 9007199254740991), ?)
   WHERE application_id = (SELECT id FROM applications WHERE client_id = ?)`

export const insertSecretOf = `
  INSERT INTO secrets (digest, created_at, application_id)
  SELECT ?, ?, id FROM applications WHERE client_id = ?`

export const endSecret = `
  UPDATE secrets SET ends_at = min(ifnull(ends_at, 9007199254740991), ?)
   WHERE id = ?
     AND application_id = (SELECT id FROM applications WHERE client_id = ?)`

export const hasImportedSecrets = `
  SELECT EXISTS (SELECT 1 FROM secrets WHERE digest GLOB '$scrypt$*')`

export const insertToken = `
  INSERT INTO tokens (id, secret_hash, application_id, issued_at) VALUES (?, ?, ?, ?)`

export const findToken = `
  SELECT secret_hash, application_id, issued_at FROM tokens WHERE id = ?`

export const purgeTokens = `
  DELETE FROM tokens WHERE id IN (SELECT id FROM tokens WHERE id < ? ORDER BY id LIMIT ?)`

export const check = `
  SELECT id FROM applications LIMIT 1`
