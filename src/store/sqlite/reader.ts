import { createBatch } from '../batch.ts'
import type { ChangeDetector } from './changes.ts'
import type { RetryLocked } from './retry-locked.ts'

/** Makes a read of what may be cached keep the promise of the port. Rejects with StoreUnavailable. */
export type Reader = <Key, Result>(read: (key: Key) => Result) => (key: Key) => Promise<Result>

interface Read {
  read: (key: never) => unknown
  key: unknown
}

/**
 * Cached reads of one turn of the event loop are made together at its end, after one look at what other processes have
 * changed. Each of them, and so the request that it is for, began before that look (docs/adr/0009).
 */
export function createReader(changes: ChangeDetector, retryLocked: RetryLocked): Reader {
  const add = createBatch<Read, unknown>(
    (take) =>
      retryLocked(() => {
        changes.refresh()
        return take().map(({ read, key }) => read(key as never))
      }),
    { maxTurns: 1 },
  )

  function reader<Key, Result>(read: (key: Key) => Result): (key: Key) => Promise<Result> {
    return (key) => add({ read, key }) as Promise<Result>
  }
  return reader
}
