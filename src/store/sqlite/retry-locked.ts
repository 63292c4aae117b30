import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { StoreUnavailable } from '../../domain/store.ts'

/** The delay before a lock that another process has is tried again. */
const RETRY_MS = 2

/** Does one thing to the database. Rejects with StoreUnavailable when the database could not; then nothing was done. */
export type RetryLocked = <Result>(action: () => Result) => Promise<Result>

/**
 * A `RetryLocked` that waits up to `timeout` milliseconds for locks, without blocking the event loop. `distrust` is told
 * of an fsync of SQLite's own that failed.
 */
export function createRetryLocked(timeout: number, distrust: (cause: unknown) => void): RetryLocked {
  return async (action) => {
    let deadline: number | undefined
    for (;;) {
      try {
        return action()
      } catch (error) {
        if (isFsyncFailure(error)) distrust(error)
        deadline ??= performance.now() + timeout
        if (!isLocked(error) || performance.now() >= deadline) throw asUnavailable(error)
      }
      await sleep(RETRY_MS)
    }
  }
}

export function isLocked(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

export function isFsyncFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_IOERR_FSYNC'
}

function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  return new StoreUnavailable(`the database answered ${error.code}`, { cause: error })
}
