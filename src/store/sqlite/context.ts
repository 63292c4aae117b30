import type { Database } from 'better-sqlite3'
import type { ChangeDetector } from './changes.ts'
import type { Reader } from './reader.ts'
import type { RetryLocked } from './retry-locked.ts'

/** What the parts of the SQLite store work with. */
export interface Context {
  db: Database
  changes: ChangeDetector
  reader: Reader
  retryLocked: RetryLocked
  /** Resolves when all that was written before is on disk. */
  toDisk: () => Promise<void>
  /** Throws StoreUnavailable where nothing may be written, and nothing that is read can be trusted. */
  assertUsable: () => void
}
