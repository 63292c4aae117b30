// What one looks at who changes nothing.

export const serverVersion = `
  SELECT current_setting('server_version')`

export const clock = `
  SELECT extract(epoch FROM clock_timestamp()) * 1000`

export const newestTokenAt = `
  SELECT issued_at FROM tokens ORDER BY id DESC LIMIT 1`

// Of an owner that never had a secret the end is unknown; of one that has a secret without an end it is the highest number.
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
