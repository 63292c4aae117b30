import { InvalidArgumentError } from 'commander'
import type { RegisteredApplication } from '../../administration/applications.ts'
import type { RegisteredSuite } from '../../administration/suites.ts'
import type { SecretView } from '../../administration/views.ts'
import { visibleOnOneLine } from '../../domain/text.ts'
import { isDay } from '../../domain/time.ts'

/** Characters that take two columns of a terminal: East Asian wide and full-width ones, and emoji. */
const WIDE =
  /[\p{sc=Han}\p{sc=Hangul}\p{sc=Hiragana}\p{sc=Katakana}\p{RGI_Emoji}\u3000-\u303e\uff01-\uff60\uffe0-\uffe6]/v

const SEGMENTER = new Intl.Segmenter(undefined, { granularity: 'grapheme' })

function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  return [...SEGMENTER.segment(text)].reduce((width, { segment }) => width + (WIDE.test(segment) ? 2 : 1), 0)
}

export function table(heading: string[], rows: string[][]): string {
  const lines = [heading, ...rows.map((cells) => cells.map(visibleOnOneLine))]
  const widths = heading.map((_, column) =>
    lines.reduce((width, cells) => Math.max(width, widthOf(cells[column] as string)), 0),
  )
  const padded = (cell: string, column: number) => cell + ' '.repeat((widths[column] as number) - widthOf(cell))
  return lines.map((cells) => cells.map(padded).join('  ').trimEnd()).join('\n')
}

/** One line for each label and its value, with the values, even multi-line ones, in one column. */
export function labelled(values: Record<string, string>): string {
  const width = Math.max(...Object.keys(values).map(({ length }) => length))
  return Object.entries(values)
    .map(([label, value]) => `${label.padEnd(width)}  ${value.replaceAll('\n', `\n${' '.repeat(width + 2)}`)}`)
    .join('\n')
}

const UNITS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const DURATION_FORMAT = 'It must be 0, or a number and s, m, h or d: 90s, 30m, 24h, 7d.'

/** RFC 3339, but the time of day, its seconds and its zone are optional. */
const MOMENT = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/

/** Parses a duration such as `90s`, `30m`, `24h`, `7d` or `0`. Returns milliseconds. Throws a usage error. */
export function duration(text: string, message = DURATION_FORMAT): number {
  if (text === '0') return 0
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  if (!count || !unit) throw new InvalidArgumentError(message)
  return Number(count) * UNITS[unit as keyof typeof UNITS]
}

/** Parses a date with an optional time, in UTC unless it has a zone, or a duration before now. Throws a usage error. */
export function moment(text: string, now = Date.now()): number {
  if (!MOMENT.test(text)) {
    const message = 'It must be a date and a time, or how long ago: 2026-11-22, 2026-11-22T06:30Z, 90s, 24h, 7d.'
    return now - duration(text, message)
  }
  const time = Date.parse(/T.*(Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes('T') ? text : `${text}Z`)
  if (Number.isNaN(time) || !isDay(text.slice(0, 10))) throw new InvalidArgumentError('There is no such day or time.')
  return time
}

/** Parses a moment, or a duration from now on. Returns milliseconds since the epoch. Throws a usage error. */
export function ending(text: string): number {
  if (MOMENT.test(text)) return moment(text)
  const message = 'It must be a date and a time, or how long from now: 2027-01-31, 2027-01-31T06:30Z, 12h, 90d.'
  return Date.now() + duration(text, message)
}

/** Returns a parser of numbers that match a pattern. It throws a usage error. */
export function number(pattern: RegExp, message: string): (text: string) => number {
  return (text) => {
    if (pattern.test(text)) return Number(text)
    throw new InvalidArgumentError(message)
  }
}

/** Parses a duration of at most 365 days. Returns milliseconds. Throws a usage error. */
export function upToAYear(text: string): number {
  const time = duration(text)
  if (time > 365 * UNITS.d) throw new InvalidArgumentError('It must be at most 365d.')
  return time
}

export const SHOWN_ONCE = 'A generated secret is shown only now and cannot be shown again.'

export function registeredApplicationText(
  application: RegisteredApplication,
  more: Record<string, string> = {},
): string {
  const { clientId, clientSecret = 'the imported one', name, developerEmail } = application
  const client_secret = clientSecret || 'none: it has federated credentials'
  return registeredText(`${name} (${developerEmail})`, { client_id: clientId, client_secret, ...more })
}

export function registeredSuiteText({ suiteId, clientSecret, name }: RegisteredSuite): string {
  return registeredText(`${name} (suite)`, { client_id: suiteId, client_secret: clientSecret })
}

function registeredText(title: string, values: Record<string, string>): string {
  return `${title}\n${labelled(values).replace(/^/gm, '  ')}`
}

/** Secrets as a table, without the secrets themselves. `unused` is the text for a secret without a known use. */
export function secretsTable(secrets: readonly SecretView[], unused = 'never'): string {
  const rows = secrets.map((secret) => [
    String(secret.id),
    secret.federated ? `federated: ${secret.federated.subject}` : secret.origin,
    secret.created_at,
    `${secret.last_used_at ?? unused}${secret.last_used_from ? ` from ${secret.last_used_from}` : ''}`,
    stateText(secret),
  ])
  return table(['secret', 'origin', 'created', 'last used', 'state'], rows)
}

export function stateText(secret: Pick<SecretView, 'state' | 'ends_at' | 'revoked_at'>): string {
  const { state, ends_at, revoked_at } = secret
  if (state === 'revoked') return `revoked at ${revoked_at}`
  if (state === 'expired') return `expired at ${ends_at}`
  return ends_at === null ? 'active' : `ends at ${ends_at}`
}
