import { selectPage, type Table } from '../../copy.ts'

// The database as a whole: its version and schema, its changes, its log.

export const sqliteVersion = `
  SELECT sqlite_version()`

export const ping = `
  SELECT id FROM applications LIMIT 1`

// A change that is one: SQLite does not write what is the same.
export const tryToWrite = `
  UPDATE changes SET revocations = revocations + 1`

export const countChanges = `
  SELECT registry, revocations FROM changes`

export const findTable = `
  SELECT 1 FROM sqlite_schema LIMIT 1`

export const findCompatibility = `
  SELECT 1 FROM sqlite_schema WHERE name = 'compatibility'`

export const oldestProgram = `
  SELECT oldest_program FROM compatibility`

export const listSchema = `
  SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`

export const lookAtLog = `
  PRAGMA wal_checkpoint(NOOP)`

export const copyLog = `
  PRAGMA wal_checkpoint(PASSIVE)`

export const emptyLog = `
  PRAGMA wal_checkpoint(TRUNCATE)`

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

// That the store has moved to another one.

export const findMove = `
  SELECT place, began_at AS beganAt, copied_at AS copiedAt FROM moved`

export const beginMove = `
  INSERT INTO moved (place, began_at) VALUES (?, ?)`

export const completeMove = `
  UPDATE moved SET copied_at = ? WHERE place = ? AND began_at = ?`

export const abandonMove = `
  DELETE FROM moved WHERE place = ? AND began_at = ?`

export const forgetMove = `
  DELETE FROM moved`

/** Reads rows of a table that is copied: bytes are hex. */
export function copyPage(table: Table): string {
  const isBytes = (type: string) => type === 'uuid' || type === 'bytea'
  return selectPage(table, {
    read: (column, type) => (isBytes(type) ? `lower(hex(${column}))` : column),
    parameter: (_, type) => (isBytes(type) ? 'unhex(?)' : '?'),
  })
}

export const lastKeys = `
  SELECT name, seq FROM sqlite_sequence WHERE seq > 0`
