// What is measured of the store, and its backups.

export const oldestTokenAt = `
  SELECT issued_at FROM tokens ORDER BY id LIMIT 1`

export const newestTokenAt = `
  SELECT issued_at FROM tokens ORDER BY id DESC LIMIT 1`

export const countEndingSecrets = `
  SELECT count(*)
    FROM (SELECT DISTINCT s.application_id, s.suite_id
            FROM secrets s
            LEFT JOIN applications a ON a.id = s.application_id
           WHERE s.ends_at > @now AND s.ends_at <= @before
             AND s.revoked_at IS NULL
             AND ifnull(a.status, 'active') = 'active'
             AND NOT EXISTS (
                   SELECT 1
                     FROM secrets other
                    WHERE (other.application_id = s.application_id OR other.suite_id = s.suite_id)
                      AND other.revoked_at IS NULL
                      AND (other.ends_at IS NULL OR other.ends_at > @before)))`

// In index order, so that LIMIT stops the scan. Each owner is represented by the last of its secrets to end.
export const listEndingSecrets = `
  SELECT iif(s.suite_id IS NULL, 'application', 'suite') AS kind,
         ifnull(a.client_id, u.suite_id) AS id,
         ifnull(a.name, u.name) AS name,
         s.ends_at AS endsAt
    FROM secrets s
    LEFT JOIN applications a ON a.id = s.application_id
    LEFT JOIN suites u ON u.id = s.suite_id
   WHERE s.ends_at > @now AND s.ends_at <= @before
     AND s.revoked_at IS NULL
     AND ifnull(a.status, 'active') = 'active'
     AND NOT EXISTS (
           SELECT 1
             FROM secrets other
            WHERE (other.application_id = s.application_id OR other.suite_id = s.suite_id)
              AND other.revoked_at IS NULL
              AND (other.ends_at IS NULL OR (other.ends_at, other.id) > (s.ends_at, s.id)))
   ORDER BY s.ends_at, s.id
   LIMIT @limit`

export const countLiveTokens = `
  SELECT count(*) AS seen, max(id) AS lastId, ifnull(sum(is_live), 0) AS live
    FROM (SELECT t.id,
                 t.revoked_at IS NULL AND EXISTS (
                   SELECT 1
                     FROM applications a
                    WHERE a.id = t.application_id
                      AND a.token_generation = t.generation
                      AND a.status = 'active') AS is_live
            FROM tokens t
           WHERE t.id > ?
           ORDER BY t.id
           LIMIT ?)`

export const countIssued = `
  SELECT ifnull(sum(issued), 0) FROM token_counts WHERE hour = ?`

export const lastBackupAt = `
  SELECT made_at FROM backups`

export const forgetBackup = `
  DELETE FROM backups`

export const insertBackup = `
  INSERT INTO backups (made_at) VALUES (?)`
