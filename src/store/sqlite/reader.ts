import { createBatch } from '../batch.ts'
import type { RetryLocked } from './retry-locked.ts'

/** Makes a read of what may be cached keep the promise of the port. Rejects with StoreUnavailable. */
export type Reader = <Key, Result>(read: (key: Key) => Result) => (key: Key) => Promise<Result>

/**
 * Reads of one turn of the event loop are made together at its end. By then every request that they are for has begun, so
 * that one look at what other processes have changed serves them all (docs/adr/0009).
 */
export function createReader(retryLocked: RetryLocked): Reader {
  return (read) => createBatch((take) => retryLocked(() => take().map(read)), { maxTurns: 1 })
}
