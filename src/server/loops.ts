import { setTimeout as sleep } from 'node:timers/promises'

/** Repeats a job, which resolves to the milliseconds until its next run. `ref`: whether pauses keep the process alive. */
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
    /** Resolves when the job has ended and will not run again. */
    async stop(): Promise<void> {
      stopping.abort()
      await running
    },
  }
}

/** Repeats a flush `interval` milliseconds after it has ended, until it is stopped. A failed flush is reported and repeated. */
export function startFlushLoop(flush: () => Promise<void>, interval: number, onError: (error: unknown) => void) {
  const job = async () => {
    await flush().catch(onError)
    return interval
  }
  const loop = startLoop(job, { delay: interval })
  return {
    /** Resolves after a last flush: one that was under way may have missed the latest data. */
    async stop(): Promise<void> {
      await loop.stop()
      await job()
    },
  }
}

/** Waits for a promise, but no longer than `timeout` milliseconds; then resolves to `late`. */
export async function within<Value>(
  timeout: number,
  promise: Promise<Value>,
  late?: Value,
): Promise<Value | undefined> {
  const waiting = new AbortController()
  try {
    return await Promise.race([promise, sleep(timeout, late, { signal: waiting.signal })])
  } finally {
    waiting.abort()
  }
}
