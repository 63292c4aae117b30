import { selectPage, type Table } from '../../copy.ts'

// The whole database: its version, its schema, its changes, its log.
export const sqliteVersion = `SELECT sqlite_version()`
export const ping = `SELECT id FROM applications LIMIT 1`
// SQLite skips an update to the same value, so this changes one.
export const tryToWrite = `UPDATE changes SET revocations = revocations + 1`
export const countChanges = `SELECT registry, revocations FROM changes`
export const findTable = `SELECT 1 FROM sqlite_schema LIMIT 1`
export const findTableNamed = `SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?`
export const oldestProgram = `SELECT oldest_program FROM compatibility`
export const listSchema = `
  SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`
export const measureLog = `PRAGMA wal_checkpoint(NOOP)`
export const copyLog = `PRAGMA wal_checkpoint(PASSIVE)`
export const emptyLog = `PRAGMA wal_checkpoint(TRUNCATE)`

// For read-only views (inspect.ts).
export const schemaVersion = `PRAGMA user_version`

// Backups.
export const forgetBackup = `DELETE FROM backups`
export const insertBackup = `INSERT INTO backups (made_at) VALUES (?)`

// The mark of a store that moves or has moved.
export const findMove = `SELECT place, began_at AS beganAt, copied_at AS copiedAt FROM moved`
export const beginMove = `INSERT INTO moved (place, began_at) VALUES (?, ?)`
export const completeMove = `UPDATE moved SET copied_at = ? WHERE place = ? AND began_at = ?`
export const abandonMove = `DELETE FROM moved WHERE place = ? AND began_at = ?`
export const forgetMove = `DELETE FROM moved`

export const lastKeys = `SELECT name, seq FROM sqlite_sequence WHERE seq > 0`

/** Reads rows of a table to copy; bytes are hex. */
export function copyPage(table: Table): string {
  const isBytes = (type: string) => type === 'uuid' || type === `bytea`
  return selectPage(table, {
    read: (column, type) => (isBytes(type) ? `lower(hex(${column}))` : column),
    parameter: (_, type) => (isBytes(type) ? 'unhex(?)' : '?'),
  })
}
