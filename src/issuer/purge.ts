import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { firstTokenIdAt, TOKEN_LIFETIME } from '../domain/token.ts'

/** How many expired tokens one step deletes: a millisecond's work or so. */
const STEP = 500
/** The wait after a full step and after the last one, in milliseconds: 30,000 tokens a second, more than are issued. */
const PAUSE = 15
const INTERVAL = 10_000

/** Deletes some expired tokens. Returns whether there may be more. Throws StoreUnavailable. */
export async function purgeStep({ store, now }: { store: Store; now: Clock }): Promise<boolean> {
  const firstAlive = firstTokenIdAt(now() - TOKEN_LIFETIME + 1)
  return (await store.purgeTokens(firstAlive, STEP)) === STEP
}

/** Deletes expired tokens in the background, in small steps, until it is stopped. A failed step is tried again. */
export function startPurge(options: { store: Store; now: Clock; onError: (error: unknown) => void }) {
  const stopping = new AbortController()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      const more = await purgeStep(options).catch(options.onError)
      await sleep(more ? PAUSE : INTERVAL, undefined, { signal: stopping.signal }).catch(() => {})
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
