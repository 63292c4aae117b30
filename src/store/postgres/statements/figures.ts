// What is measured of the store.

export const databaseSize = `
  SELECT pg_database_size(current_database())`

export const oldestTokenAt = `
  SELECT issued_at FROM tokens ORDER BY id LIMIT 1`

export const countEndingSecrets = `
  SELECT count(*)
    FROM (SELECT DISTINCT s.application_id, s.suite_id
            FROM secrets s
            LEFT JOIN applications a ON a.id = s.application_id
           WHERE s.ends_at > $1 AND s.ends_at <= $2
             AND s.revoked_at IS NULL
             AND coalesce(a.status, 'active') = 'active'
             AND NOT EXISTS (
                   SELECT 1
                     FROM secrets other
                    WHERE (other.application_id = s.application_id OR other.suite_id = s.suite_id)
                      AND other.revoked_at IS NULL
                      AND (other.ends_at IS NULL OR other.ends_at > $2))) ending`

export const lastBackupAt = `
  SELECT made_at FROM backups`
