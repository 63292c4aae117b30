import type { Test } from 'tap'

/** Moves the clock of this machine, and not that of PostgreSQL, until the test ends. Milliseconds. */
export function shiftClock(t: Test, offset: number): void {
  const { now } = Date
  t.intercept(Date, 'now', { value: () => now() + offset })
}
