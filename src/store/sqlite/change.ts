import type { Context } from './context.ts'

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
