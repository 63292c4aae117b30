import type { Audit } from '../domain/audit-event.ts'
import type { Change } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'

/** What the parts of administration work with. */
export interface Context {
  store: Store
  now: Clock
  /** The author and time of a change, for the store's audit trail. */
  audit: () => Audit
  /** Reports a change when it is durable. */
  report: (change: Change) => void
}
