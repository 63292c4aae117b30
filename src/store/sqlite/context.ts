import type { Database } from 'better-sqlite3'
import type { ChangeDetector, Reader } from './changes.ts'
import type { RetryLocked } from './retry-locked.ts'

/** What the parts of the SQLite store work with. */
export interface Context {
  db: Database
  changes: ChangeDetector
  reader: Reader
  retryLocked: RetryLocked
  /** Reads what is not cached. */
  read: RetryLocked
  /** Makes a write that nobody waits for. No checkpoint follows: nobody knows whether the disk answers. */
  write: RetryLocked
  /** Throws StoreUnavailable where nothing may be written. Right before each commit. */
  assertWritable: () => void
  /** Throws StoreUnavailable where the log is full. Before each transaction that writes, not within it. */
  assertRoom: () => void
  /** Right after each commit that is answered: resolves when it is on disk; rejects with StoreUnavailable. */
  committed: () => Promise<void>
}

interface AccessOptions extends Pick<Context, 'retryLocked' | 'assertWritable' | 'assertRoom'> {
  /** Throws StoreUnavailable where nothing that is read can be trusted. */
  assertUsable: () => void
  /** Right after each commit. */
  countCommit: () => void
}

/** The ways to the database that need no cache and no waiting for the disk. */
export function createAccess({
  retryLocked,
  assertUsable,
  assertWritable,
  assertRoom,
  countCommit,
}: AccessOptions): Pick<Context, 'read' | 'write'> {
  return {
    read: (action) =>
      retryLocked(() => {
        assertUsable()
        return action()
      }),
    write: (action) =>
      retryLocked(() => {
        assertRoom()
        assertWritable()
        const result = action()
        countCommit()
        return result
      }),
  }
}

/** Makes one change, in one transaction. Resolves when it is on disk; rejects with StoreUnavailable. */
export type Change = <Result>(action: () => Result) => Promise<Result>

/** A `Change` of what is cached with the registry. */
export function createChange({ db, changes, retryLocked, committed, assertWritable, assertRoom }: Context): Change {
  return async (action) => {
    const transact = db.transaction(action).immediate
    const result = await retryLocked(() => {
      assertRoom()
      assertWritable()
      changes.invalidate('registry')
      return transact()
    })
    await committed()
    return result
  }
}
