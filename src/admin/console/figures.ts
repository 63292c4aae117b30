const WHOLE = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const SHORT = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

/** A non-breaking space between figure and unit. */
const SPACE = '\u00a0'

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

/** Stands for an unknown figure. */
export const NONE = '–'

/** A count: 1,234; in short form from a million on. */
export function count(number: number): string {
  return number < 1e6 ? WHOLE.format(number) : short(number)
}

/** A count in short form: 1.5K. */
export function short(number: number): string {
  return COMPACT.format(number)
}

/** A duration in seconds: 0.45 ms, 12 ms, 1.5 s. */
export function duration(seconds: number | undefined): string {
  if (seconds === undefined) return NONE
  return seconds < 1 ? `${SHORT.format(seconds * 1000)}${SPACE}ms` : `${SHORT.format(seconds)}${SPACE}s`
}

/** A size in bytes, in units of 1024: 4.2 MB. */
export function size(bytes: number | undefined): string {
  if (bytes === undefined) return NONE
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), UNITS.length - 1)
  const inUnit = bytes / 1024 ** power
  return `${inUnit < 10 ? SHORT.format(inUnit) : WHOLE.format(Math.round(inUnit))}${SPACE}${UNITS[power]}`
}

/** A share from 0 to 1: 97 %. */
export function percent(share: number): string {
  return `${Math.round(share * 100)}${SPACE}%`
}
