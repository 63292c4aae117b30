export const insertTokens = (count: number) => `
  INSERT INTO tokens (id, secret_hash, application_id, generation, issued_at, audience)
  VALUES ${Array(count).fill('(?, ?, ?, ?, ?, ?)').join(', ')}`

export const findToken = `
  SELECT secret_hash AS secretHash, application_id AS applicationKey, generation,
         issued_at AS issuedAt, revoked_at AS revokedAt, audience
    FROM tokens
   WHERE id = ?`

export const revokeToken = 'UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL'

// The registry, as token requests and checks need it.

export const findApplication = 'SELECT json FROM applications_as_json WHERE client_id = ?'
export const findClientId = 'SELECT client_id FROM applications WHERE id = ?'
export const findSuite = 'SELECT json FROM suites_as_json WHERE suite_id = ?'

export const mostImportedSecrets = `
  SELECT ifnull(max(checked), 0)
    FROM (SELECT max(1, sum(revoked_at IS NULL)) AS checked
            FROM secrets
           WHERE digest GLOB '$scrypt$*'
           GROUP BY application_id)`

export const suiteUrls = "SELECT url, suite_id FROM suites WHERE url <> ''"

export const countLiveTokens = `
  SELECT count(*) AS seen, max(id) AS lastId, ifnull(sum(is_live), 0) AS live
    FROM (SELECT t.id,
                 t.revoked_at IS NULL AND EXISTS (
                   SELECT 1
                     FROM applications a
                    WHERE a.id = t.application_id
                      AND a.token_generation IN (t.generation, -1 - t.generation)
                      AND a.status = 'active') AS is_live
            FROM tokens t
           WHERE t.id > ?
           ORDER BY t.id
           LIMIT ?)`
