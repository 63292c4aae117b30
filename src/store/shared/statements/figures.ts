// What the store measures for statistics.

export const oldestTokenAt = 'SELECT issued_at FROM tokens ORDER BY id LIMIT 1'
export const newestTokenAt = 'SELECT issued_at FROM tokens ORDER BY id DESC LIMIT 1'

const ENDING = `
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
              AND`

export const lastBackupAt = 'SELECT made_at FROM backups'

// For each owner, the secret that ends last. $3 is before $2.
export const measure = `
  SELECT (${oldestTokenAt}), (${lastBackupAt}), count(*) FILTER (WHERE s.ends_at <= $3), count(*)
  ${ENDING} (other.ends_at IS NULL OR (other.ends_at, other.id) > (s.ends_at, s.id)))`

const lastUse = (secret: string) => `coalesce((SELECT last_used_at FROM secret_uses WHERE secret_id = ${secret}.id), 0)`

// For each owner, the secret that was used last, or else the one that ends last. In index order, so that LIMIT stops the scan.
export const listEndingSecrets = `
  SELECT CASE WHEN s.suite_id IS NULL THEN 'application' ELSE 'suite' END,
         coalesce(a.client_id, u.suite_id),
         coalesce(a.name, u.name),
         s.ends_at
  ${ENDING} (other.ends_at IS NULL OR other.ends_at > $1)
              AND (${lastUse('other')}, coalesce(other.ends_at, 9007199254740991), other.id)
                > (${lastUse('s')}, s.ends_at, s.id))
   ORDER BY s.ends_at, s.id
   LIMIT $3`

// For the read-only view of a store (inspect.ts). The end is null for an owner that never had a secret, and the highest number
// for one that has a secret without an end.
export const listOwnersWithoutSecret = `
  SELECT kind, id, name, ends_at
    FROM (SELECT 'application' AS kind, a.client_id AS id, a.name,
                 (SELECT max(coalesce(s.ends_at, 9007199254740991)) FROM secrets s WHERE s.application_id = a.id) AS ends_at
            FROM applications a
           WHERE a.status = 'active'
           UNION ALL
          SELECT 'suite', u.suite_id, u.name,
                 (SELECT max(coalesce(s.ends_at, 9007199254740991)) FROM secrets s WHERE s.suite_id = u.id)
            FROM suites u) owners
   WHERE ends_at IS NULL OR ends_at <= $1
   ORDER BY kind, id`

export const listOperatorKeys = `
  SELECT o.name, (SELECT max(k.ends_at) FROM admin_keys k WHERE k.operator_id = o.id AND k.revoked_at IS NULL)
    FROM operators o
   ORDER BY o.name`

export const lastRefusedSignIn = 'SELECT at, why FROM refused_sign_in'
