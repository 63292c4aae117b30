const WHOLE = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const SHORT = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

/** A figure and its unit stay on one line. */
const SPACE = '\u00a0'

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** What is written where there is nothing to say. */
export const NONE = '–'

/** How many: 1,234, and from a million on in short. */
export function count(number: number): string {
  return number < 1e6 ? WHOLE.format(number) : short(number)
}

/** How many, where there is little room: 1.5K. */
export function short(number: number): string {
  return COMPACT.format(number)
}

/** How long, of seconds: 0.45 ms, 12 ms, 1.5 s. */
export function duration(seconds: number | undefined): string {
  if (seconds === undefined) return NONE
  return seconds < 1 ? `${SHORT.format(seconds * 1000)}${SPACE}ms` : `${SHORT.format(seconds)}${SPACE}s`
}

/** How much room: 4.2 MB. */
export function size(bytes: number | undefined): string {
  if (bytes === undefined) return NONE
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1)
  const inUnit = bytes / 1024 ** power
  return `${inUnit < 10 ? SHORT.format(inUnit) : WHOLE.format(Math.round(inUnit))}${SPACE}${UNITS[power]}`
}

/** A part of a whole: 97 %. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}${SPACE}%`
}
