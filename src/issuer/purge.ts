import type { Observer } from '../domain/events.ts'
import { IDEMPOTENCY_LIFETIME } from '../domain/idempotency.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import { HOUR } from '../domain/usage.ts'

/** How many rows one step deletes: about a millisecond's work. */
const STEP = 500

const DAY = 24 * HOUR
const KEEP_COUNTS_MS = 2 * DAY
const KEEP_REFUSALS_MS = 30 * DAY
const KEEP_AUDIT_EVENTS_MS = 400 * DAY

/**
 * Deletes a batch of expired tokens; once there are no more, a batch of old counts, refusals, audit events, idempotency
 * records and ended sessions. Resolves to whether there may be more to delete. Throws StoreUnavailable.
 */
export async function purge({
  store,
  now,
  observe,
}: {
  store: Store
  now: Clock
  observe: Observer
}): Promise<boolean> {
  // Not negative: a clock that was never set begins at the epoch.
  const firstAlive = Math.max(now() - TOKEN_LIFETIME + 1, 0)
  const tokens = await store.purge('tokens', firstAlive, STEP)
  if (tokens > 0) observe({ type: 'tokens purged', count: tokens })
  // Thousands of tokens may expire each second, so they go first.
  if (tokens === STEP) return true
  const counts = await store.purge('token counts', now() - KEEP_COUNTS_MS, STEP)
  const refusals = await store.purge('refusals', now() - KEEP_REFUSALS_MS, STEP)
  const auditEvents = await purgeAuditEvents(store, now())
  const repeatable = await store.purge('idempotency records', now() - IDEMPOTENCY_LIFETIME, STEP)
  await store.purge('sign-ins', now(), STEP)
  return [counts, refusals, repeatable, auditEvents].includes(STEP)
}

/** Counts the 400 days from the newest event at the latest: a clock that is years ahead must not empty the trail. */
async function purgeAuditEvents(store: Store, now: number): Promise<number> {
  const [newest] = await store.listAuditEvents({ limit: 1 })
  if (!newest) return 0
  return store.purge('audit events', Math.min(now, newest.at) - KEEP_AUDIT_EVENTS_MS, STEP)
}
