import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import { CLOCK_TOLERANCE, type Clock } from '../domain/time.ts'

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

/** Between two lines of the log that say the same. Milliseconds. */
const OFFSET_REPEAT_MS = 60_000

interface OffsetOptions {
  store: Pick<Store, 'clockOffset'>
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
  observe: Observer
}

/**
 * Returns a function, to be called often, that tells whether the system's clock and the store's agree, and says when they do
 * not, and do again.
 */
export function watchClockOffset({ store, monotonic, observe }: OffsetOptions): () => boolean {
  let nextLine: number | undefined

  return () => {
    const offset = store.clockOffset()
    if (offset === undefined) return false
    if (Math.abs(offset) <= CLOCK_TOLERANCE) {
      if (nextLine !== undefined) observe({ type: 'clock agrees' })
      nextLine = undefined
      return true
    }
    if (nextLine === undefined || monotonic() >= nextLine) {
      observe({ type: 'clock differs', seconds: Math.round(offset / 1000) })
      nextLine = monotonic() + OFFSET_REPEAT_MS
    }
    return false
  }
}
