import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Does a job again and again until it is stopped. The job resolves to the milliseconds until the next time. `delay`:
 * milliseconds before the first time. `ref`: whether pauses keep the process alive.
 */
export function startLoop(job: () => Promise<number>, { delay = 0, ref = true } = {}) {
  const stopping = new AbortController()
  const { signal } = stopping

  async function run(): Promise<void> {
    let pause = delay === 0 ? await job() : delay
    while (!signal.aborted) {
      await sleep(pause, undefined, { signal, ref }).catch(() => {})
      if (!signal.aborted) pause = await job()
    }
  }

  const running = run()
  return {
    /** Resolves when the job is not under way and will not be done again. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}

interface FlushOptions {
  /** Milliseconds between the end of one flush and the next. */
  interval: number
  onError: (error: unknown) => void
}

/** Flushes again and again until it is stopped, and then once more. A flush that failed is reported, and tried again. */
export function startFlushLoop(flush: () => Promise<void>, { interval, onError }: FlushOptions) {
  const job = async () => {
    await flush().catch(onError)
    return interval
  }
  const loop = startLoop(job, { delay: interval })
  return {
    /** Resolves when everything is flushed, or could not be. */
    async stop(): Promise<void> {
      await loop.stop()
      // A flush that was under way did not have everything.
      await job()
    },
  }
}
