import { accessSync, constants, existsSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { createSharedInspector, type Inspector, judgeSchema, type Move } from '../inspect.ts'
import { readMigrations } from '../migrations.ts'
import { StoreMissing } from '../opened.ts'
import { lastBackupAt } from '../shared/statements/figures.ts'
import { libraryVersion } from './connection.ts'
import { toOperatorError } from './explain.ts'
import { assertNotMissing, isDatabase, resolveLinks, sideFilesOf } from './files.ts'
import { findTable, findTableNamed, MIGRATIONS, oldestProgram } from './migrate.ts'
import { findMove } from './move.ts'

/** How long a statement waits, blocking this process, while another process has locked the database. */
const LOCK_TIMEOUT_MS = 1000

interface Connection {
  prepare(statement: string): { get(...values: unknown[]): unknown; all(...values: unknown[]): unknown[] }
  close(): unknown
}

/** Opens a read-only view of a database. Throws OperatorError if it cannot be read. */
export function inspectSqlite(path: string, access = accessSync): Inspector {
  const db = openToRead(path, access)
  const row = <Row>(statement: string, ...values: unknown[]) => db.prepare(statement).get(...values) as Row | undefined
  const has = (table: string) => row(findTableNamed, table) !== undefined

  return {
    software: async () => `SQLite ${libraryVersion()}`,

    async schema() {
      const version = versionOf(db)
      const oldest = has('compatibility') ? row<{ oldest_program: string }>(oldestProgram) : undefined
      const found = { version, latest: readMigrations(MIGRATIONS).length, oldestProgram: oldest?.oldest_program }
      return judgeSchema(found, { isForeign: version === 0 && row(findTable) !== undefined })
    },

    assertNotStuck: async () => {},
    move: async () => (has('moved') ? row<Move>(findMove) : undefined),
    clockOffset: async () => 0,
    riskySettings: async () => [],

    ...createSharedInspector(async <Row extends unknown[]>(statement: string, values: unknown[] = []) => {
      const named = values.length === 0 ? [] : [Object.fromEntries(values.map((value, i) => [i + 1, value]))]
      const rows = db.prepare(statement).all(...named)
      return rows.map((row) => Object.values(row as object) as Row)
    }),

    lastBackupAt: async () => (has('backups') ? row<{ made_at: number }>(lastBackupAt)?.made_at : undefined),
    close: () => void db.close(),
  }
}

function openToRead(path: string, access: typeof accessSync): Connection {
  let db: Connection | undefined
  try {
    const file = resolveLinks(path)
    assertNotMissing(file)
    if (!isDatabase(file)) throw new StoreMissing(`There is no database at ${file}`)
    assertReadable(file, access)
    db = connect(file)
    versionOf(db)
    return db
  } catch (error) {
    db?.close()
    if (error instanceof StoreMissing) throw error
    // A driver error is also expected; Node.js's own driver has another class for it.
    const { code, message } = error as NodeJS.ErrnoException
    const expected = code === 'ERR_SQLITE_ERROR' ? new OperatorError(message, { cause: error }) : error
    throw toOperatorError(`The database ${path} cannot be read`, expected, path)
  }
}

function versionOf(db: Connection): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version
}

/** Throws OperatorError with the cause: SQLite's own error would only say that it cannot open the file. */
function assertReadable(file: string, access: typeof accessSync): void {
  try {
    access(file, constants.R_OK)
  } catch (cause) {
    const user = process.getuid?.()
    throw new OperatorError(`this process, uid ${user}, may not read it: run this as the server's user`, { cause })
  }
}

/**
 * Opens a database without creating a file. If no process has it open, it has no index of its log, and the store's driver
 * would create one. Node.js's own driver can open the file as immutable instead.
 */
function connect(file: string): Connection {
  const [, index] = sideFilesOf(file)
  if (existsSync(index)) return new Database(file, { readonly: true, timeout: LOCK_TIMEOUT_MS })
  return new DatabaseSync(`${pathToFileURL(file)}?immutable=1`, { readOnly: true }) as Connection
}
