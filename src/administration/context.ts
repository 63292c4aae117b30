import type { Audit } from '../domain/audit-event.ts'
import type { Change, ChangeEvent, ChangeResult } from '../domain/change.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'

export interface ReadContext {
  store: Store
  now: Clock
}

export interface Context extends ReadContext {
  /** The author and time of a change, for the store's audit trail. */
  audit: () => Audit
  /** Reports a change, which must already be durable. */
  report: (change: ChangeEvent) => void
  /** Makes a change, and reports it if it changed anything. */
  change: (change: Change, audit?: Audit) => Promise<ChangeResult>
}
