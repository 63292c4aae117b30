import { InvalidArgumentError } from 'commander'
import { isDay } from '../../domain/day.ts'

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** RFC 3339, but the time of day, its seconds and its zone are optional. */
const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/

/** Parses a duration such as `90s`, `30m`, `24h`, `7d` or `0`. Returns milliseconds. Throws a usage error. */
export function duration(text: string): number {
  if (text === '0') return 0
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (!count || !unit) throw new InvalidArgumentError('It must be 0, or a number and s, m, h or d: 90s, 30m, 24h, 7d.')
  return Number(count) * UNITS[unit as keyof typeof UNITS]
}

/**
 * Parses a date with an optional time (UTC unless it has a zone), or a duration before now. Returns milliseconds since the
 * epoch. Throws a usage error for any other text.
 */
export function moment(text: string, now = Date.now()): number {
  if (!MOMENT.test(text)) return ago(text, now)
  const time = Date.parse(/T.*(Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`)
  if (Number.isNaN(time) || !isDay(text.slice(0, 10))) throw new InvalidArgumentError('There is no such day or time.')
  return time
}

function ago(text: string, now: number): number {
  try {
    return now - duration(text)
  } catch {
    throw new InvalidArgumentError(
      'It must be a date and a time, or how long ago: 2026-11-22, 2026-11-22T06:30Z, 90s, 24h, 7d.',
    )
  }
}

/** A duration of at most 365 days, in milliseconds. Throws a usage error. */
export function upToAYear(text: string): number {
  const time = duration(text)
  if (time > 365 * UNITS.d) throw new InvalidArgumentError('It may be 365d at most.')
  return time
}
