import type { Audit, Author } from '../domain/audit-event.ts'
import type { Clock } from '../domain/clock.ts'
import type { Change, Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import { createApplications } from './applications.ts'
import { createOperators } from './operators.ts'
import { createSecrets } from './secrets.ts'
import { createSeed } from './seed.ts'
import { createSuites } from './suites.ts'
import { createWhy } from './why.ts'

/** What the parts of administration work with. */
export interface Context {
  store: Store
  now: Clock
  /** The author and time of a change, for the store's audit trail. */
  audit: () => Audit
  /** Says what was changed, when it is durable. */
  report: (change: Change) => void
}

export interface AdministrationOptions {
  store: Store
  now: Clock
  observe: Observer
  /** The author of all changes. */
  author: Author
}

export type Administration = ReturnType<typeof createAdministration>

/** What an operator can do, by subject. What cannot be done is an OperatorError and changes nothing. */
export function createAdministration({ store, now, observe, author }: AdministrationOptions) {
  const context: Context = {
    store,
    now,
    audit: () => ({ author, at: now() }),
    report: (change) => observe({ ...change, ...author }),
  }
  return {
    applications: createApplications(context),
    suites: createSuites(context),
    secrets: createSecrets(context),
    operators: createOperators(context),
    seed: createSeed(context),
    listAuditEvents: store.listAuditEvents,
    why: createWhy(context),
  }
}
