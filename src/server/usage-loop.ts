import { setTimeout as sleep } from 'node:timers/promises'
import type { Observer } from '../domain/events.ts'
import type { Issuer } from '../issuer/issuer.ts'

const INTERVAL_MS = 60_000

/** Hands what was counted to the store once a minute, until it is stopped, and then once more. What failed is tried again. */
export function startUsageLoop({ issuer, observe }: { issuer: Issuer; observe: Observer }, interval = INTERVAL_MS) {
  const stopping = new AbortController()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(interval, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted) await flush()
    }
    // Also where it was stopped amid the last one, which did not have all.
    await flush()
  }

  async function flush(): Promise<void> {
    await issuer.flushUsage(observe).catch((err) => observe({ type: 'usage not recorded', err }))
  }

  const running = run()
  return {
    /** Resolves when all is handed over, or could not be. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}
