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

// In index order, so that LIMIT stops the scan. Each owner is represented by the last of its secrets to end.
export const listEndingSecrets = `
  SELECT CASE WHEN s.suite_id IS NULL THEN 'application' ELSE 'suite' END,
         coalesce(a.client_id, u.suite_id),
         coalesce(a.name, u.name),
         s.ends_at
    FROM secrets s
    LEFT JOIN applications a ON a.id = s.application_id
    LEFT JOIN suites u ON u.id = s.suite_id
   WHERE s.ends_at > $1 AND s.ends_at <= $2
     AND s.revoked_at IS NULL
     AND coalesce(a.status, 'active') = 'active'
     AND NOT EXISTS (
           SELECT 1
             FROM secrets other
            WHERE (other.application_id = s.application_id OR other.suite_id = s.suite_id)
              AND other.revoked_at IS NULL
              AND (other.ends_at IS NULL OR (other.ends_at, other.id) > (s.ends_at, s.id)))
   ORDER BY s.ends_at, s.id
   LIMIT $3`

export const countLiveTokens = `
  SELECT count(*),
         count(*) FILTER (WHERE t.revoked_at IS NULL AND a.token_generation = t.generation AND a.status = 'active')
    FROM (SELECT application_id, generation, revoked_at FROM tokens WHERE id >= $1::uuid ORDER BY id LIMIT $2) t
    LEFT JOIN applications a ON a.id = t.application_id`

export const countIssued = `
  SELECT coalesce(sum(issued), 0) FROM token_counts WHERE hour = $1`

export const lastBackupAt = `
  SELECT made_at FROM backups`
