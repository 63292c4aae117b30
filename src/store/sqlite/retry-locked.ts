import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { StoreUnavailable } from '../../domain/store.ts'
import { explain, isFsyncFailure, isLocked } from './explain.ts'

/** The delay between attempts while another process holds a lock. */
const RETRY_MS = 2

/** Runs a synchronous operation on the database. Rejects with StoreUnavailable if that failed and nothing was done. */
export type RetryLocked = <Result>(action: () => Result) => Promise<Result>

interface Options {
  /** Called when SQLite fails, or is still locked at the deadline. */
  onError: () => void
  /** Called when an fsync by SQLite itself fails. */
  distrust: (cause: unknown) => void
}

/** Retries for up to `timeout` milliseconds while locked, without blocking the event loop. `file` is named in messages. */
export function createRetryLocked(file: string, timeout: number, { onError, distrust }: Options): RetryLocked {
  return async (action) => {
    let deadline: number | undefined
    for (;;) {
      try {
        return action()
      } catch (error) {
        if (!(error instanceof Database.SqliteError)) throw error
        if (isFsyncFailure(error)) distrust(error)
        deadline ??= performance.now() + timeout
        if (!isLocked(error) || performance.now() >= deadline) {
          onError()
          const cause = explain(error, file)
          throw new StoreUnavailable(`the database ${file} answered ${error.code}: ${cause}`, { cause: error })
        }
      }
      await sleep(RETRY_MS)
    }
  }
}
