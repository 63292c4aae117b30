import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { StoreUnavailable } from '../../domain/store.ts'

/** Between two attempts to get a lock that another process has, in milliseconds. */
const RETRY = 2

/** Does one thing to the database. Rejects with StoreUnavailable when the database could not; then nothing was done. */
export type Attempt = <Result>(action: () => Result) => Promise<Result>

/** An `Attempt` that waits for locks so many milliseconds, without blocking. */
export function createAttempt(patience: number): Attempt {
  return async (action) => {
    let giveUpAt: number | undefined
    for (;;) {
      try {
        return action()
      } catch (error) {
        giveUpAt ??= performance.now() + patience
        if (!isBusy(error) || performance.now() >= giveUpAt) throw asUnavailable(error)
      }
      await sleep(RETRY)
    }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

function asUnavailable(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) return error
  return new StoreUnavailable(`the database answered ${error.code}`, { cause: error })
}
