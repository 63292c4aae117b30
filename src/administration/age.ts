const UNITS = [
  ['day', 24 * 60 * 60_000],
  ['h', 60 * 60_000],
  ['min', 60_000],
  ['s', 1000],
] as const

/** How long ago a time was, rounded to one unit: `3 min ago`. Never `1 min`, `1 h` or `1 day`: `89 s` is followed by `2 min`. */
export function ago(time: number, now: number): string {
  const age = Math.max(now - time, 0)
  const [unit, length] = UNITS.find(([, length]) => age >= 1.5 * length) ?? ['s', 1000]
  const count = Math.round(age / length)
  return `${count} ${unit === 'day' ? 'days' : unit} ago`
}
