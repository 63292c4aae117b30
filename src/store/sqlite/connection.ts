import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { isAtLeast, OLDEST_SQLITE } from '../migrations.ts'
import { leaveOpen, NoStore } from '../opened.ts'
import { markUnsound, recoverLog } from './disk.ts'
import { assertFilesUnchanged, fileNow, isUnsound, preparePlace, tighten } from './files.ts'
import { migrate } from './migrate.ts'
import { explain, isFsyncFailure } from './retry-locked.ts'
import * as sql from './statements/database.ts'

/** How long opening and migrating wait for other processes. */
const OPEN_TIMEOUT_MS = 10_000

interface Options {
  /** Whether the file is made where there is none. */
  create?: boolean
  /** Whether its log is brought to the disk first, if no other process has it open. */
  recover?: boolean
}

/**
 * Opens a SQLite file or `:memory:`, migrates it, and hands the connection to `use`. Throws OperatorError where there is no
 * file and it is not to be made; and StoreUnavailable with the path, the cause and what to do, and closes the connection,
 * where any of that fails for another reason outside of the program.
 */
export function openDatabase<Result>(
  path: string,
  use: (db: Database.Database, migrated: { from: number; to: number }) => Result,
  { create = true, recover = false }: Options = {},
): Result {
  const file = path === ':memory:' ? path : locate(path, { create, recover })
  let db: Database.Database | undefined
  try {
    const opened = file === ':memory:' ? [] : [fileNow(file)]
    db = connect(file)
    // While it waited for the lock, a restore may have put another file in its place.
    assertFilesUnchanged(opened)
    const migrated = migrate(db, { create })
    if (file !== ':memory:') tighten(file)
    return use(db, migrated)
  } catch (error) {
    if (db && isFsyncFailure(error)) {
      markUnsound(file)
      leaveOpen(db)
    } else db?.close()
    throw cannotBeOpened(path, error)
  }
}

function locate(path: string, options: Required<Options>): string {
  try {
    const file = preparePlace(path, options)
    if (options.recover || isUnsound(file)) recoverLog(file)
    return file
  } catch (error) {
    throw cannotBeOpened(path, error)
  }
}

function connect(file: string): Database.Database {
  const db = new Database(file, { timeout: OPEN_TIMEOUT_MS, fileMustExist: true })
  assertSqliteVersion(db.prepare(sql.sqliteVersion).pluck().get() as string)
  db.pragma('journal_mode = WAL')
  // better-sqlite3 is compiled with NORMAL for WAL, which loses the last commits in a power cut.
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('temp_store = MEMORY')
  // KiB: the inner pages of five million tokens, twice; the driver is compiled with 16 MB.
  db.pragma('cache_size = -8000')
  return db
}

/** What is said of what SQLite, the file system or the migrations answered; anything else is a bug, and stays as it is. */
function cannotBeOpened(path: string, error: unknown): unknown {
  if (!isExpected(error) || error instanceof NoStore) return error
  const cause = error instanceof OperatorError ? error.message : explain(error, path)
  return new StoreUnavailable(`The database ${path} cannot be opened: ${cause}`, { cause: error })
}

/** Whether SQLite, the file system or this program's rules said no; any other error is a bug. */
export function isExpected(error: unknown): error is Error {
  if (error instanceof OperatorError || error instanceof Database.SqliteError) return true
  return error instanceof Error && 'syscall' in error
}

/** The version of the SQLite that the driver brings along. */
export function libraryVersion(): string {
  const db = new Database(':memory:')
  const version = db.prepare(sql.sqliteVersion).pluck().get()
  db.close()
  return version as string
}

/** Throws OperatorError where SQLite is so old that it can lose what was committed. */
export function assertSqliteVersion(version: string): void {
  if (isAtLeast(version, OLDEST_SQLITE)) return
  throw new OperatorError(
    `SQLite is ${version}, and before ${OLDEST_SQLITE} it can lose commits: run npm ci, which installs a newer one.`,
  )
}
