import Database from 'better-sqlite3'
import { type Backlog, StoreUnavailable } from '../../domain/store.ts'
import { FULL_LOG, LARGE_LOG } from '../inspect.ts'
import { isFsyncFailure } from './explain.ts'
import { logSize } from './files.ts'

/** The log is checked after this many commits. */
const COMMITS_PER_CHECK = 16

/** How long emptying the log may block other processes, in milliseconds. */
const EMPTYING_MS = 50

/** The result of a checkpoint: 1 if it was blocked, else 0; the pages in the log; how many of them are copied. */
interface CheckpointResult {
  busy: number
  log: number
  checkpointed: number
}

interface Options {
  /** Called when an fsync fails. */
  distrust: (cause: unknown) => void
  /** Throws StoreUnavailable if nothing may be written. */
  assertWritable: () => void
  /**
   * How many uncopied pages make a checkpoint due; 4000 are 16 MB. It blocks the event loop for some milliseconds: four
   * times as long as SQLite's default and a quarter as often, so that it delays less than one request in a hundred. Pages
   * that a reader has blocked are all copied in one go when the reader ends: 0.44 s for 206 MB.
   */
  pages?: number
  large?: number
  full?: number
}

/** Copies the write-ahead log into the database. SQLite's own `wal_autocheckpoint` would not report failures. */
export function createCheckpoints(
  db: Database.Database,
  { distrust, assertWritable, pages = 4000, large = LARGE_LOG, full = FULL_LOG }: Options,
) {
  const measure = db.prepare<[], CheckpointResult>('PRAGMA wal_checkpoint(NOOP)')
  const copy = db.prepare<[], CheckpointResult>('PRAGMA wal_checkpoint(PASSIVE)')
  const empty = db.prepare<[], CheckpointResult>('PRAGMA wal_checkpoint(TRUNCATE)')
  const bytesPerPage = (db.pragma('page_size', { simple: true }) as number) + 24
  let commits = 0
  let isFull = false
  db.pragma('wal_autocheckpoint = 0')

  /** Call it after each commit. */
  function countCommit(): void {
    commits++
  }

  /** Call it only when the disk has just answered: a checkpoint waits for the disk, and blocks. */
  function checkpointIfDue(): void {
    if (commits < COMMITS_PER_CHECK) return
    commits = 0
    attempt(copyIfDue)
  }

  function copyIfDue(): undefined {
    const { log, checkpointed } = measure.get() as CheckpointResult
    if (log - checkpointed >= pages) copy.get()
    isFull = log * bytesPerPage >= full
  }

  /**
   * Copies what is due, and empties a large log. If that failed, returns the log's size and the cause. Call it only when the disk
   * has just answered.
   */
  function backlog(): Backlog | undefined {
    // Needed in the leader, which purges and never waits for a commit.
    attempt(copyIfDue)
    const bytes = logSize(db.name)
    if (bytes < large) return undefined
    db.pragma(`busy_timeout = ${EMPTYING_MS}`)
    const cause = attempt(() => emptyLog(copy, empty))
    db.pragma('busy_timeout = 0')
    return cause === undefined ? undefined : { bytes, cause }
  }

  /** Throws StoreUnavailable if the log is full. Do not call it within a transaction, where every checkpoint fails. */
  function assertLogNotFull(): void {
    if (!isFull) return
    assertWritable()
    const cause = attempt(() => emptyLog(copy, empty))
    attempt(copyIfDue)
    if (isFull) throw new StoreUnavailable(`the log of the database has reached its limit: ${cause}`)
  }

  /** Returns the action's result, or the message of SQLite's error. */
  function attempt(action: () => string | undefined): string | undefined {
    try {
      return action()
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error
      if (isFsyncFailure(error)) distrust(error)
      return `${error.message} (${error.code})`
    }
  }

  return { countCommit, checkpointIfDue, backlog, assertLogNotFull }
}

type Checkpoint = Database.Statement<[], CheckpointResult>

/** Empties the log, or returns why not. Copying takes long, so that is done first, without blocking other processes. */
function emptyLog(copy: Checkpoint, empty: Checkpoint): string | undefined {
  const { log, checkpointed } = copy.get() as CheckpointResult
  if (checkpointed < log) return 'a reader still needs an old state'
  return empty.get()?.busy ? 'another process is always reading or writing' : undefined
}
