import { StoreUnavailable } from '../../domain/store.ts'

/**
 * Brings what was written to the disk. When that has failed once, it fails for ever: the system may have thrown away
 * what it could not write, so nothing that stands behind it is safe.
 */
export function createSync(flush: () => Promise<unknown>) {
  let failure: unknown

  /** Throws StoreUnavailable when a flush has failed. */
  function assertSound(): void {
    if (failure) throw failure
  }

  /** Resolves when all that was written before is on disk; rejects with StoreUnavailable. */
  async function sync(): Promise<void> {
    try {
      await flush()
    } catch (cause) {
      failure ??= new StoreUnavailable('the disk did not take what was written: restart when it is in order', { cause })
    }
    assertSound()
  }

  return { sync, assertSound }
}
