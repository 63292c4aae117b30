import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 10
/** Only what hangs takes as long, also on a machine with eight times the load that it has cores for. */
const LIMIT_MS = 30_000

/** Resolves when the condition is true. It is asked every few milliseconds. Rejects after 30 seconds. */
export async function until(condition: () => boolean | Promise<boolean>, limit = LIMIT_MS): Promise<void> {
  const deadline = performance.now() + limit
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`still false after ${limit / 1000} s: ${condition}`)
    await sleep(PAUSE_MS)
  }
}
