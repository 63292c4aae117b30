import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 10

/** Resolves when the condition is true. Rejects with `what` if it is not within some seconds. */
export async function until(condition: () => boolean, what: string, seconds = 60): Promise<void> {
  const deadline = performance.now() + seconds * 1000
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`Not within ${seconds} s: ${what}.`)
    await sleep(PAUSE_MS)
  }
}
