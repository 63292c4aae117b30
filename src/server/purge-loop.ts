import type { Event, Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import { CLOCK_TOLERANCE, type Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import { purge } from '../issuer/purge.ts'
import { startLoop } from './loops.ts'

/** The delay after a step that was full, and after one that was not. Milliseconds; docs/performance has why. */
const BUSY_DELAY_MS = 15
const IDLE_DELAY_MS = 10_000

/** Later than the end of any session, and more than there are. */
const END_OF_TIME = Number.MAX_SAFE_INTEGER
const ALL = Number.MAX_SAFE_INTEGER

export interface PurgeOptions {
  store: Store
  now: Clock
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
  observe: Observer
  idleDelay?: number
}

/**
 * Deletes expired tokens in the background, in small steps, until it is stopped. A step that failed is tried again. When
 * the clock has jumped it pauses for as long as a token lives, and where the store has another time for as long as it does:
 * what seems to be expired may not be, and would be lost. When the clock is set back, it also ends the sessions
 * of operators.
 */
export function startPurgeLoop({ store, now, monotonic, observe, idleDelay = IDLE_DELAY_MS }: PurgeOptions) {
  const clockJump = watchClock({ now, monotonic })
  const clocksAgree = watchClockOffset({ store, monotonic, observe })
  const lookAtBacklog = watchBacklog({ store, monotonic, observe })
  let pausedUntil = monotonic()
  let mustEndSessions = false

  /** Resolves to whether there may be more to delete. */
  async function step(): Promise<boolean> {
    const jump = clockJump()
    if (jump !== 0) {
      observe({ type: 'clock jumped', seconds: Math.round(jump / 1000) })
      pausedUntil = monotonic() + TOKEN_LIFETIME
    }
    // Otherwise sessions would last longer by as much as the clock went back.
    if (jump < 0) mustEndSessions = true
    if (mustEndSessions) await store.purge('sign-ins', END_OF_TIME, ALL)
    mustEndSessions = false
    return clocksAgree() && monotonic() >= pausedUntil && purge({ store, now, observe })
  }

  return startLoop(async () => {
    const more = await step().catch((err) => observe({ type: 'purge failed', err }))
    await lookAtBacklog()
    return more ? BUSY_DELAY_MS : idleDelay
  })
}

/** Less than this is not a jump: NTP slews, and a process may be stopped between two readings. */
const TOLERANCE_MS = 60_000

/**
 * Watches the system's clock beside a monotonic one, which nobody sets. Returns a function that tells by how many
 * milliseconds the clock has jumped since it was called last; 0 where it has not.
 */
export function watchClock({ now, monotonic }: { now: Clock; monotonic: Clock }): () => number {
  let ahead = now() - monotonic()
  return () => {
    const jump = now() - monotonic() - ahead
    ahead += jump
    return Math.abs(jump) > TOLERANCE_MS ? jump : 0
  }
}

/** Between two lines of the log that report the same. Milliseconds. */
const REPEAT_MS = 60_000

/** Returns a function that reports a state when it begins, now and then while it lasts, and with `ended` when it has ended. */
function createAlarm(ended: Event, { monotonic, observe }: Pick<PurgeOptions, 'monotonic' | 'observe'>) {
  let nextLine: number | undefined
  return (state: Event | undefined): void => {
    if (!state) {
      if (nextLine !== undefined) observe(ended)
      nextLine = undefined
    } else if (nextLine === undefined || monotonic() >= nextLine) {
      observe(state)
      nextLine = monotonic() + REPEAT_MS
    }
  }
}

type WatchOptions<Call extends keyof Store> = Pick<PurgeOptions, 'monotonic' | 'observe'> & { store: Pick<Store, Call> }

/** Between two looks at the backlog. Milliseconds. */
const LOOK_MS = 10_000

/** Returns a function, to be called often, that lets a store tidy up now and then, and reports when it cannot, and can again. */
export function watchBacklog({ store, ...options }: WatchOptions<'backlog'>): () => Promise<void> {
  const { monotonic } = options
  const report = createAlarm({ type: 'store backlog cleared' }, options)
  let nextLook = monotonic()

  return async () => {
    if (monotonic() < nextLook) return
    nextLook = monotonic() + LOOK_MS
    // A store that cannot be used is reported by the requests that need it.
    const backlog = await store.backlog().catch(() => 'unknown' as const)
    if (backlog !== 'unknown') report(backlog && { type: 'store backlog', ...backlog })
  }
}

/** Returns a function, to be called often, that tells whether this machine's clock and the store's agree, and reports it. */
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
