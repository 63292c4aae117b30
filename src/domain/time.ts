// A time is in milliseconds since the epoch, and its name ends in At; without another unit, a duration is in milliseconds, too.

/** Returns milliseconds, from the epoch on unless it is monotonic. Always passed as an argument, so that tests can set it. */
export type Clock = () => number

export const MINUTE = 60_000

/** How far the clocks of a node and its database may differ, in milliseconds. */
export const CLOCK_TOLERANCE = 1000

/** Whether a text is a date that exists, such as `2026-01-31`. Date.parse alone turns February 30 into March 2. */
export function isDay(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** Converts milliseconds since the epoch to RFC 3339. */
export function timestamp(time: number): string {
  return new Date(time).toISOString()
}

const UNITS = [
  ['day', 24 * 60 * 60_000],
  ['h', 60 * 60_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** How long ago a time was: `3 min ago`. */
export function ago(time: number, now: number): string {
  return `${lasting(Math.max(now - time, 0))} ago`
}

/** A duration, rounded to one unit. Never `1 min`, `1 h` or `1 day`: `89 s` is followed by `2 min`. */
export function lasting(duration: number): string {
  const [unit, length] = UNITS.find(([, length]) => duration >= 1.5 * length) ?? ['s', 1000]
  const count = Math.round(duration / length)
  return `${count} ${unit === 'day' ? 'days' : unit}`
}
