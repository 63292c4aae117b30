import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 10

/** Resolves when the condition is true. It is asked every few milliseconds; tap's timeout ends a test whose never is. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(PAUSE_MS)
}
