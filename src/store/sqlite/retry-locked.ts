import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { StoreUnavailable } from '../../domain/store.ts'
import { explain } from './explain.ts'

/** The delay before a lock that another process has is tried again. */
const RETRY_MS = 2

type SqliteError = InstanceType<typeof Database.SqliteError>

/** Does one thing to the database. Rejects with StoreUnavailable when the database could not; then nothing was done. */
export type RetryLocked = <Result>(action: () => Result) => Promise<Result>

interface Options {
  /** Is told when SQLite could not do something for another reason than a lock. */
  onError: () => void
  /** Is told of an fsync of SQLite's own that failed. */
  distrust: (cause: unknown) => void
}

/**
 * A `RetryLocked` for the database in a file that waits up to `timeout` milliseconds for locks, without blocking the event
 * loop.
 */
export function createRetryLocked(file: string, timeout: number, { onError, distrust }: Options): RetryLocked {
  return async (action) => {
    let deadline: number | undefined
    for (;;) {
      try {
        return action()
      } catch (error) {
        if (!(error instanceof Database.SqliteError)) throw error
        if (!isLocked(error)) onError()
        if (isFsyncFailure(error)) distrust(error)
        deadline ??= performance.now() + timeout
        if (!isLocked(error) || performance.now() >= deadline) throw unavailable(error, file)
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

function unavailable(error: SqliteError, file: string): StoreUnavailable {
  return new StoreUnavailable(`the database ${file} answered ${error.code}: ${explain(error, file)}`, { cause: error })
}
