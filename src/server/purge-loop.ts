import type { KeyObject } from 'node:crypto'
import { signHead } from '../administration/audit-chain.ts'
import type { AuditHead } from '../domain/audit-chain.ts'
import { AUDIT_LIFETIME, IDEMPOTENCY_LIFETIME } from '../domain/audit-event.ts'
import type { Event, Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import { CLOCK_TOLERANCE, type Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import { DAY } from '../domain/usage.ts'
import { startLoop } from './loops.ts'

/** Milliseconds between two steps if there is no more to delete. */
const IDLE_DELAY_MS = 10_000

/** How many rows the smallest step deletes: about a millisecond's work. */
const STEP = 500

/** While there may be more to delete, each level adds rows to a step, and takes a millisecond from the pause after it. */
const HIGHEST_LEVEL = 5
const ROWS_PER_LEVEL = 200
const LONGEST_PAUSE_MS = 15

/** The level rises only if the pause is at least this many times as long as the step has blocked this process, and requests. */
const REST = 15

const KEEP_COUNTS_MS = 2 * DAY
const KEEP_REFUSALS_MS = 30 * DAY

/** Later than the end of any session. */
const END_OF_TIME = Number.MAX_SAFE_INTEGER
const ALL = Number.MAX_SAFE_INTEGER

interface PurgeOptions {
  store: Store
  now: Clock
  monotonic: Clock
  observe: Observer
  /** Signs the audit heads that are reported. */
  auditKey?: KeyObject | undefined
  idleDelay?: number
}

/**
 * Deletes expired tokens in small steps until it is stopped. A failed step is tried again. It pauses for a token's lifetime after
 * the clock has jumped, and while the store's clock differs: tokens that seem expired may still be valid. When the clock is set
 * back, it also ends the sessions of operators.
 */
export function startPurgeLoop({ store, now, monotonic, observe, auditKey, idleDelay = IDLE_DELAY_MS }: PurgeOptions) {
  const clockJump = watchClock({ now, monotonic })
  const clocksAgree = watchClockOffset({ store, monotonic, observe })
  const checkBacklog = watchBacklog({ store, monotonic, observe })
  const reportAuditHead = watchAuditHead({ store, now, monotonic, observe, auditKey })
  const pace = createPace(monotonic)
  let pausedUntil = monotonic()
  let mustEndSessions = false

  /** Resolves to whether there may be more to delete. */
  async function step(rows: number): Promise<boolean> {
    const jump = clockJump()
    if (jump !== 0) {
      observe({ type: 'clock jumped', seconds: Math.round(jump / 1000) })
      pausedUntil = monotonic() + TOKEN_LIFETIME
    }
    // Otherwise sessions would last longer, by as much as the clock was set back.
    if (jump < 0) mustEndSessions = true
    if (mustEndSessions) await store.purge('sign-ins', END_OF_TIME, ALL)
    mustEndSessions = false
    return clocksAgree() && monotonic() >= pausedUntil && purge({ store, now, observe }, rows)
  }

  return startLoop(async () => {
    const pause = await pace(step).catch((err) => void observe({ type: 'purge failed', err }))
    await checkBacklog()
    await reportAuditHead()
    return pause ?? idleDelay
  })
}

/**
 * Returns a function that makes a step. The longer the purge has been behind, the more rows a step deletes, and the shorter is
 * the pause after it; once the purge has caught up, steps are small again. `step` tells whether there may be more to delete.
 * The function resolves to the pause in milliseconds, or to undefined if there is nothing more to delete.
 */
export function createPace(
  monotonic: Clock,
): (step: (rows: number) => Promise<boolean>) => Promise<number | undefined> {
  let level = 0
  const pause = () => LONGEST_PAUSE_MS - level
  return async (step) => {
    const begin = monotonic()
    const made = step(STEP + level * ROWS_PER_LEVEL)
    // SQLite deletes within the call, PostgreSQL in its own process.
    const isLight = (monotonic() - begin) * REST <= pause()
    const more = await made
    level = more ? Math.min(Math.max(level + (isLight ? 1 : -1), 0), HIGHEST_LEVEL) : 0
    return more ? pause() : undefined
  }
}

/**
 * Deletes at most `rows` expired tokens; once there are no more, a batch of old counts, usage, refusals, audit events,
 * idempotency records, ended sessions and issuers that are not needed, and chains audit events of older programs. Resolves to whether there may be more to delete. Throws StoreUnavailable.
 */
export async function purge({ store, now, observe }: Omit<PurgeOptions, 'monotonic'>, rows: number): Promise<boolean> {
  // Not negative: a clock that was never set begins at the epoch.
  const firstAlive = Math.max(now() - TOKEN_LIFETIME + 1, 0)
  const tokens = await store.purge('tokens', firstAlive, rows)
  if (tokens > 0) observe({ type: 'tokens purged', count: tokens })
  // Thousands of tokens may expire each second, so they go first.
  if (tokens === rows) return true
  const counts = await store.purge('token counts', now() - KEEP_COUNTS_MS, STEP)
  const usage = await store.purge('usage', now(), STEP)
  const refusals = await store.purge('refusals', now() - KEEP_REFUSALS_MS, STEP)
  const requests = await store.purge('refused requests', now() - KEEP_REFUSALS_MS, STEP)
  const auditEvents = await purgeAuditEvents(store, now())
  const chained = await store.chainAuditEvents(STEP, now())
  const records = await store.purge('idempotency records', now() - IDEMPOTENCY_LIFETIME, STEP)
  await store.purge('sign-ins', now(), STEP)
  await store.purge('issuers', now(), STEP)
  // For usage, a batch per span.
  return chained || [counts, usage, refusals, requests, records, auditEvents].some((count) => count >= STEP)
}

/** Keeps at least the 400 days before the newest event, so that a clock that is years ahead does not empty the trail. */
async function purgeAuditEvents(store: Store, now: number): Promise<number> {
  const [newest] = await store.listAuditEvents({ limit: 1 })
  if (!newest) return 0
  return store.purge('audit events', Math.min(now, newest.at) - AUDIT_LIFETIME, STEP)
}

/** Smaller differences are not jumps: NTP slews the clock, and a process may be stopped between two readings. */
const TOLERANCE_MS = 60_000

/**
 * Returns a function that compares the system clock with a monotonic one. It returns by how many milliseconds the system clock
 * has jumped since the last call, or 0.
 */
export function watchClock({ now, monotonic }: { now: Clock; monotonic: Clock }): () => number {
  let ahead = now() - monotonic()
  return () => {
    const jump = now() - monotonic() - ahead
    ahead += jump
    return Math.abs(jump) > TOLERANCE_MS ? jump : 0
  }
}

/** Milliseconds between two reports of the same state. */
const REPEAT_MS = 60_000

/** Returns a function that reports a state when it begins and once a minute while it lasts, and `ended` when it is over. */
function createAlarm(ended: Event, { monotonic, observe }: Pick<PurgeOptions, 'monotonic' | 'observe'>) {
  let nextReport: number | undefined
  return (state: Event | undefined): void => {
    if (!state) {
      if (nextReport !== undefined) observe(ended)
      nextReport = undefined
    } else if (nextReport === undefined || monotonic() >= nextReport) {
      observe(state)
      nextReport = monotonic() + REPEAT_MS
    }
  }
}

type WatchOptions<Call extends keyof Store> = Pick<PurgeOptions, 'monotonic' | 'observe'> & { store: Pick<Store, Call> }

/** Milliseconds between two calls of `store.backlog`. */
const BACKLOG_INTERVAL_MS = 10_000

/** Returns a function that lets a store do maintenance, and reports when that is not possible. Call it often. */
export function watchBacklog({ store, ...options }: WatchOptions<'backlog'>): () => Promise<void> {
  const { monotonic } = options
  const report = createAlarm({ type: 'store backlog cleared' }, options)
  let nextCheck = monotonic()

  return async () => {
    if (monotonic() < nextCheck) return
    nextCheck = monotonic() + BACKLOG_INTERVAL_MS
    // Requests report a store that is unavailable.
    const backlog = await store.backlog().catch(() => 'unknown' as const)
    if (backlog !== 'unknown') report(backlog && { type: 'store backlog', ...backlog })
  }
}

/** Returns a function that tells whether this machine's clock and the store's agree, and reports a difference. Call it often. */
export function watchClockOffset({ store, ...options }: WatchOptions<'clockOffset'>): () => boolean {
  const report = createAlarm({ type: 'clock agrees' }, options)

  return () => {
    const offset = store.clockOffset()
    if (offset === undefined) return false
    const doAgree = Math.abs(offset) <= CLOCK_TOLERANCE
    report(doAgree ? undefined : { type: 'clock differs', seconds: Math.round(offset / 1000) })
    return doAgree
  }
}

/** Returns a function that reports the newest audit event at the start and once a day. Call it often. */
export function watchAuditHead({
  store,
  now,
  monotonic,
  observe,
  auditKey,
}: Omit<PurgeOptions, 'store'> & { store: Pick<Store, 'findAuditHead'> }): () => Promise<void> {
  let nextReport = monotonic()

  return async () => {
    if (monotonic() < nextReport) return
    // Requests report a store that is unavailable.
    const signed = (head?: AuditHead) => head && signHead(head, now(), auditKey)
    const found = await store
      .findAuditHead()
      .then(signed)
      .catch(() => undefined)
    if (!found) return
    nextReport = monotonic() + DAY
    const { made_at: madeAt, ...head } = found
    observe({ type: 'audit head', ...head, madeAt })
  }
}
