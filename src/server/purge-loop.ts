import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../domain/clock.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import { purge } from '../issuer/purge.ts'

/** The delay after a step that was full, and after one that was not. Milliseconds; docs/performance has why. */
const BUSY_DELAY_MS = 15
const IDLE_DELAY_MS = 10_000

/** Deletes expired tokens in the background, in small steps, until it is stopped. A step that failed is tried again. */
export function startPurgeLoop({ store, now, observe }: { store: Store; now: Clock; observe: Observer }) {
  const stopping = new AbortController()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const more = await purge({ store, now }).catch((err) => observe({ type: 'purge failed', err }))
      await sleep(more ? BUSY_DELAY_MS : IDLE_DELAY_MS, undefined, { signal: stopping.signal }).catch(() => {})
    }
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
