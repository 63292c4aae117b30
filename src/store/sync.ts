import { StoreUnavailable } from '../issuer/store.ts'

/**
 * Brings what was written to the disk. One flush is under way at a time, and the next one serves all who came meanwhile.
 * When one has failed, every later call fails: the system may have thrown away what it could not write, so nothing that
 * stands behind it is safe.
 */
export function createSync(flush: () => Promise<unknown>) {
  let underWay: Promise<void> | undefined
  let next: Promise<void> | undefined
  let failure: unknown

  function begin(): Promise<void> {
    next = undefined
    underWay = flush().then(
      () => {
        underWay = undefined
      },
      (cause) => {
        failure = new StoreUnavailable('the disk did not take what was written: restart when it is in order', { cause })
        throw failure
      },
    )
    return underWay
  }

  return {
    /** Resolves when a flush has ended that began after this call; rejects with StoreUnavailable. */
    sync(): Promise<void> {
      if (!underWay) return begin()
      next ??= underWay.then(begin)
      return next
    },

    /** Throws StoreUnavailable when a flush has failed. */
    assertSound(): void {
      if (failure) throw failure
    },
  }
}
