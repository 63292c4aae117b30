import { StoreUnavailable } from '../../domain/store.ts'

/**
 * Brings what was written to the disk. Once that has failed it fails from then on: the system may have dropped what it
 * could not write, so nothing that was written after it is safe.
 */
export function createFsync(fsync: () => Promise<unknown>) {
  let failure: StoreUnavailable | undefined

  /** Throws StoreUnavailable when an fsync has failed. */
  function assertDiskTrusted(): void {
    if (failure) throw failure
  }

  /** Resolves when all that was written before is on disk; rejects with StoreUnavailable. */
  async function toDisk(): Promise<void> {
    try {
      await fsync()
    } catch (cause) {
      failure ??= new StoreUnavailable('fsync failed; the disk cannot be trusted with what was written', { cause })
    }
    assertDiskTrusted()
  }

  return { toDisk, assertDiskTrusted }
}
