import Database from 'better-sqlite3'
import { type Backlog, StoreUnavailable } from '../../domain/store.ts'
import { FULL_LOG, LARGE_LOG } from '../inspect.ts'
import { logSize } from './files.ts'
import { isFsyncFailure } from './retry-locked.ts'
import * as sql from './statements/database.ts'

/** How many commits there are between two looks at the log. */
const COMMITS = 16

/** How long the log may be kept from others to empty it, in milliseconds. */
const EMPTYING_MS = 50

/** What a checkpoint answers: whether somebody was in its way; the pages in the log, and those of them that are copied. */
interface Answer {
  busy: number
  log: number
  checkpointed: number
}

interface Options {
  /** Is told of an fsync that failed. */
  distrust: (cause: unknown) => void
  /** Throws StoreUnavailable where nothing may be written. */
  assertWritable: () => void
  /**
   * After how many pages they are copied: 16 MB. It blocks the event loop for some milliseconds: four times as long as by
   * SQLite's default and a quarter as often, so that less than one request in a hundred meets one. What a reader has kept
   * from being copied is copied at once when it has gone: 0.44 s for 206 MB.
   */
  pages?: number
  large?: number
  full?: number
}

/**
 * Copies what is in the log of a database into the database, from time to time. Not by SQLite's own `wal_autocheckpoint`,
 * which says nothing of a checkpoint that failed.
 */
export function createCheckpoints(
  db: Database.Database,
  { distrust, assertWritable, pages = 4000, large = LARGE_LOG, full = FULL_LOG }: Options,
) {
  const look = db.prepare<[], Answer>(sql.lookAtLog)
  const copy = db.prepare<[], Answer>(sql.copyLog)
  const empty = db.prepare<[], Answer>(sql.emptyLog)
  const bytesPerPage = (db.pragma('page_size', { simple: true }) as number) + 24
  const attempt = attemptWith(distrust)
  let commits = 0
  let isFull = false
  db.pragma('wal_autocheckpoint = 0')

  /** To be called after each commit. */
  function countCommit(): void {
    commits++
  }

  /** To be called only when the disk has just answered: a checkpoint waits for it, and blocks. */
  function copyNowAndThen(): void {
    if (commits < COMMITS) return
    commits = 0
    attempt(copyWhatIsDue)
  }

  function copyWhatIsDue(): undefined {
    const { log, checkpointed } = look.get() as Answer
    if (log - checkpointed >= pages) copy.get()
    isFull = log * bytesPerPage >= full
  }

  /**
   * Copies what is due, and empties the log where it is large. Returns how large it is and why, where that could not be done.
   * To be called only when the disk has just answered.
   */
  function backlog(): Backlog | undefined {
    // Also where nobody waits for a commit: in the leader, which purges.
    attempt(copyWhatIsDue)
    const bytes = logSize(db.name)
    if (bytes < large) return undefined
    db.pragma(`busy_timeout = ${EMPTYING_MS}`)
    const cause = attempt(emptyLog)
    db.pragma('busy_timeout = 0')
    return cause === undefined ? undefined : { bytes, cause }
  }

  /** Returns what was in the way. The copying takes long, so it is done first, beside the others. */
  function emptyLog(): string | undefined {
    const { log, checkpointed } = copy.get() as Answer
    if (checkpointed < log) return 'a reader does not let go of an old state'
    return empty.get()?.busy ? 'there is always a reader or a writer' : undefined
  }

  /** Throws StoreUnavailable where the log is full. Not within a transaction: there every checkpoint fails. */
  function assertRoom(): void {
    if (!isFull) return
    assertWritable()
    const cause = attempt(emptyLog)
    attempt(copyWhatIsDue)
    if (isFull) throw new StoreUnavailable(`the log of the database has reached its limit: ${cause}`)
  }

  return { countCommit, copyNowAndThen, backlog, assertRoom }
}

/** Returns a function that returns what an action returns, or the message of SQLite's error. */
function attemptWith(distrust: Options['distrust']) {
  return (action: () => string | undefined): string | undefined => {
    try {
      return action()
    } catch (error) {
      if (!(error instanceof Database.SqliteError)) throw error
      if (isFsyncFailure(error)) distrust(error)
      return `${error.message} (${error.code})`
    }
  }
}
