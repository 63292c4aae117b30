// What one looks at who changes nothing.

export const schemaVersion = `
  PRAGMA user_version`

export const findTableNamed = `
  SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`

// Of an owner that never had a secret the end is unknown; of one that has a secret without an end it is the highest number.
export const listOwnersWithoutSecret = `
  SELECT kind, id, name, ends_at AS endsAt
    FROM (SELECT 'application' AS kind, a.client_id AS id, a.name,
                 (SELECT max(ifnull(s.ends_at, 9007199254740991)) FROM secrets s WHERE s.application_id = a.id) AS ends_at
            FROM applications a
           WHERE a.status = 'active'
           UNION ALL
          SELECT 'suite', u.suite_id, u.name,
                 (SELECT max(ifnull(s.ends_at, 9007199254740991)) FROM secrets s WHERE s.suite_id = u.id)
            FROM suites u)
   WHERE ends_at IS NULL OR ends_at <= ?
   ORDER BY kind, id`

export const listOperatorKeys = `
  SELECT o.name, (SELECT max(k.ends_at) FROM admin_keys k WHERE k.operator_id = o.id AND k.revoked_at IS NULL) AS lastKeyEndsAt
    FROM operators o
   ORDER BY o.name`
