import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { isAtLeast, OLDEST_SQLITE } from '../migrations.ts'
import { leaveOpen, type Opened, type OpenOptions, StoreMissing } from '../opened.ts'
import { markUnsound, recoverLog } from './disk.ts'
import { explain, isExpected, isFsyncFailure } from './explain.ts'
import { assertFilesUnchanged, identify, isUnsound, prepareFile, restrictToOwner } from './files.ts'
import { migrate } from './migrate.ts'

const selectVersion = 'SELECT sqlite_version()'

/** How long opening and migrating wait for the locks of other processes. */
const OPEN_TIMEOUT_MS = 10_000

/**
 * Opens a SQLite file or `:memory:`, migrates it, and hands the connection to `use`. If any of that fails it closes the
 * connection and throws: OperatorError if the file does not exist and may not be created, else StoreUnavailable with
 * the path, the cause and how to fix it. An unexpected error, from a bug, is thrown unchanged.
 */
export function openDatabase<Result>(
  path: string,
  use: (db: Database.Database, migrated: Opened['migrated']) => Result,
  { create = true, recover = false }: Pick<OpenOptions, 'create' | 'recover'> = {},
): Result {
  let db: Database.Database | undefined
  let file = path
  try {
    if (path !== ':memory:') {
      file = prepareFile(path, { create })
      if (recover || isUnsound(file)) recoverLog(file)
    }
    const opened = path === ':memory:' ? [] : [identify(file)]
    db = connect(file)
    // While this waited for the lock, a restore may have replaced the file.
    assertFilesUnchanged(opened)
    const migrated = migrate(db, { create: create || db.memory })
    if (path !== ':memory:') restrictToOwner(file)
    return use(db, migrated)
  } catch (error) {
    if (db && isFsyncFailure(error)) {
      markUnsound(file)
      leaveOpen(db)
    } else db?.close()
    if (!isExpected(error) || error instanceof StoreMissing) throw error
    const cause = error instanceof OperatorError ? error.message : explain(error, path)
    throw new StoreUnavailable(`The database ${path} cannot be opened: ${cause}`, { cause: error })
  }
}

function connect(file: string): Database.Database {
  const db = new Database(file, { timeout: OPEN_TIMEOUT_MS, fileMustExist: true })
  assertSqliteVersion(db.prepare(selectVersion).pluck().get() as string)
  db.pragma('journal_mode = WAL')
  // The default of better-sqlite3 for WAL is NORMAL, which loses the last commits in a power cut.
  db.pragma('synchronous = FULL')
  db.pragma('foreign_keys = ON')
  db.pragma('temp_store = MEMORY')
  // Negative means KiB: twice the inner pages of five million tokens. The driver's default is 16 MB.
  db.pragma('cache_size = -8000')
  return db
}

/** Opens a file for one piece of work, without creating or migrating it. */
export function withDatabase<Result>(
  file: string,
  options: Database.Options,
  work: (db: Database.Database) => Result,
): Result {
  const db = new Database(file, options)
  try {
    return work(db)
  } finally {
    db.close()
  }
}

export function libraryVersion(): string {
  return withDatabase(':memory:', {}, (db) => db.prepare(selectVersion).pluck().get() as string)
}

/** Throws OperatorError if SQLite is so old that it can lose commits. */
export function assertSqliteVersion(version: string): void {
  if (isAtLeast(version, OLDEST_SQLITE)) return
  throw new OperatorError(
    `SQLite is ${version}, and versions before ${OLDEST_SQLITE} can lose commits: run npm ci, which installs a newer one.`,
  )
}
