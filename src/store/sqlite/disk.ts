import { StoreUnavailable } from '../../domain/store.ts'

/** How long the disk may take to answer. Milliseconds. */
const TIMEOUT_MS = 2000

const NO_ANSWER = `the disk has not answered for ${TIMEOUT_MS / 1000} seconds`

interface Options {
  fsync: () => Promise<unknown>
  /** Throws StoreUnavailable where another process's fsync has failed. */
  assertSound: () => void
  /** Tells other processes that this one's has failed. */
  mark: () => void
}

/**
 * Brings what was written to the disk. Once that has failed it fails from then on: the system may have dropped what it
 * could not write, so nothing that was written after it is safe. While the disk does not answer nothing is to be written.
 */
export function createDisk({ fsync, assertSound, mark }: Options) {
  let failure: StoreUnavailable | undefined
  let overdue = 0

  /** Resolves when all that was written before is on disk; rejects with StoreUnavailable, after two seconds at most. */
  function toDisk(): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOverdue = false
      const timer = setTimeout(() => {
        isOverdue = true
        overdue++
        reject(new StoreUnavailable(`${NO_ANSWER}; what it was asked to store may be stored all the same`))
      }, TIMEOUT_MS)

      function ended(): void {
        clearTimeout(timer)
        if (isOverdue) overdue--
        try {
          assertTrusted()
          // Where another process's fsync has failed, this one's success means nothing.
          assertSound()
          resolve()
        } catch (error) {
          reject(error)
        }
      }
      fsync().catch(distrust).then(ended)
    })
  }

  /** From now on the disk is not trusted, by any process. */
  function distrust(cause: unknown): void {
    failure ??= new StoreUnavailable('fsync failed; the disk cannot be trusted with what was written', { cause })
    mark()
  }

  /** Throws StoreUnavailable when an fsync of this process has failed. */
  function assertTrusted(): void {
    if (!failure) return
    // Again: at the first time the file system may have been read-only.
    mark()
    throw failure
  }

  /** Throws StoreUnavailable while an fsync has not returned for too long. */
  function assertAnswering(): void {
    if (overdue > 0) throw new StoreUnavailable(NO_ANSWER)
  }

  return { toDisk, distrust, assertTrusted, assertAnswering }
}
