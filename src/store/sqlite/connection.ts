import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { assertFilesUnchanged, fileNow } from './files.ts'
import { migrate } from './migrate.ts'

/** How long opening and migrating wait for other processes. */
const OPEN_TIMEOUT_MS = 10_000

/**
 * Opens a SQLite file, made where there is none, or `:memory:`, migrates it, and hands the connection to `use`. Throws
 * StoreUnavailable with the path, and closes the connection, where any of that fails for a reason outside of the program.
 */
export function openDatabase<Result>(
  path: string,
  use: (db: Database.Database, migrated: { from: number; to: number }) => Result,
): Result {
  let db: Database.Database | undefined
  try {
    if (path !== ':memory:') makeFile(path)
    const opened = path === ':memory:' ? [] : [fileNow(path)]
    db = connect(path)
    // While it waited for the lock, a restore may have put another file in its place.
    assertFilesUnchanged(opened)
    return use(db, migrate(db))
  } catch (error) {
    db?.close()
    if (!isExpected(error)) throw error
    throw new StoreUnavailable(`The database ${path} cannot be opened: ${error.message}`, { cause: error })
  }
}

function connect(path: string): Database.Database {
  const db = new Database(path, { timeout: OPEN_TIMEOUT_MS, fileMustExist: true })
  db.pragma('journal_mode = WAL')
  // better-sqlite3 is compiled with NORMAL for WAL, which loses the last commits in a power cut.
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('temp_store = MEMORY')
  // KiB: the inner pages of five million tokens, twice; the driver is compiled with 16 MB.
  db.pragma('cache_size = -8000')
  return db
}

function makeFile(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600))
}

/** What SQLite, the file system and the migrations answer; anything else is a bug. */
function isExpected(error: unknown): error is Error {
  if (error instanceof OperatorError || error instanceof Database.SqliteError) return true
  return error instanceof Error && 'syscall' in error
}
