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

export const lastBackupAt = `
  SELECT made_at FROM backups`

export const forgetBackup = `
  DELETE FROM backups`

export const insertBackup = `
  INSERT INTO backups (made_at) VALUES (?)`
