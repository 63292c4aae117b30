import { CLOCK_TOLERANCE, type Clock } from '../domain/clock.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'

/** Between two lines of the log that say the same. Milliseconds. */
const REPEAT_MS = 60_000

interface Options {
  store: Pick<Store, 'clockOffset'>
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
  observe: Observer
}

/**
 * Returns a function, to be called often, that tells whether the system's clock and the store's agree, and says when they do
 * not, and do again.
 */
export function watchClockOffset({ store, monotonic, observe }: Options): () => boolean {
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
      nextLine = monotonic() + REPEAT_MS
    }
    return false
  }
}
