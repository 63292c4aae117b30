import { setTimeout as sleep } from 'node:timers/promises'

interface FlushOptions {
  /** Milliseconds between the end of one and the next. */
  interval: number
  onError: (error: unknown) => void
}

/** Flushes again and again, until it is stopped, and then once more. What failed is told, and tried again the next time. */
export function startFlushLoop(flush: () => Promise<void>, { interval, onError }: FlushOptions) {
  const stopping = new AbortController()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      await sleep(interval, undefined, { signal: stopping.signal }).catch(() => {})
      if (!stopping.signal.aborted) await flush().catch(onError)
    }
    // Also where it was stopped amid the last one, which did not have all.
    await flush().catch(onError)
  }

  const running = run()
  return {
    /** Resolves when all is flushed, or could not be. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}
