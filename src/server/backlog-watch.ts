import type { Clock } from '../domain/clock.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'

/** Between two looks, and between two lines of the log that say the same. Milliseconds. */
const LOOK_MS = 10_000
const REPEAT_MS = 60_000

interface Options {
  store: Store
  /** Milliseconds of a clock that nobody sets. */
  monotonic: Clock
  observe: Observer
}

/** Returns a function, to be called often, that lets a store tidy up now and then, and says when it cannot, and can again. */
export function watchBacklog({ store, monotonic, observe }: Options): () => Promise<void> {
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
      nextLine = monotonic() + REPEAT_MS
    }
  }
}
