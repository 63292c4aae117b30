import { setTimeout as sleep } from 'node:timers/promises'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { TOKEN_LIFETIME } from '../domain/token.ts'
import { purge } from '../issuer/purge.ts'
import { watchClock, watchClockOffset } from './clock-watch.ts'

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
  const stopping = new AbortController()
  const clockJump = watchClock({ now, monotonic })
  const clocksAgree = watchClockOffset({ store, monotonic, observe })
  const lookAtBacklog = watchBacklog({ store, monotonic, observe })
  let pausedUntil = monotonic()
  let mustEndSessions = false

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const more = await step().catch((err) => observe({ type: 'purge failed', err }))
      await lookAtBacklog()
      await sleep(more ? BUSY_DELAY_MS : idleDelay, undefined, { signal: stopping.signal }).catch(() => {})
    }
  }

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

  const running = run()
  return {
    /** Resolves when no step is under way and none will follow. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}

/** Between two looks, and between two lines of the log that say the same. Milliseconds. */
const LOOK_MS = 10_000
const BACKLOG_REPEAT_MS = 60_000

interface BacklogOptions {
  store: Store
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
  observe: Observer
}

/** Returns a function, to be called often, that lets a store tidy up now and then, and says when it cannot, and can again. */
export function watchBacklog({ store, monotonic, observe }: BacklogOptions): () => Promise<void> {
  let nextLook = monotonic()
  let nextLine: number | undefined

  return async () => {
    if (monotonic() < nextLook) return
    nextLook = monotonic() + LOOK_MS
    // A store that cannot be used is said by whoever needs it.
    const backlog = await store.backlog().catch(() => 'unknown' as const)
    if (backlog === 'unknown') return
    if (backlog === undefined) {
      if (nextLine !== undefined) observe({ type: 'store backlog cleared' })
      nextLine = undefined
    } else if (nextLine === undefined || monotonic() >= nextLine) {
      observe({ type: 'store backlog', ...backlog })
      nextLine = monotonic() + BACKLOG_REPEAT_MS
    }
  }
}
