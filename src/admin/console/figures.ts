import { MINUTE } from '../../domain/time.ts'
import type { Latency, RefusedFor, Statistics, Traffic } from '../../views/statistics.ts'
import type { Chart, Series } from './chart.ts'

/** The longest list of reasons for refusals, with the row for all other reasons. */
const REASONS = 6

/** Clearer words for a reason: browsers request a favicon on their own, so that is not a client's mistake. */
const WORDS: Record<string, string> = { 'no such endpoint': 'no such endpoint, such as /favicon.ico' }

/** The most frequent reasons, and the others together. */
export function topReasons(refusals: readonly Pick<RefusedFor, 'reason' | 'count'>[]) {
  const rest = refusals.slice(REASONS - 1)
  const others = { reason: 'other reasons', count: rest.reduce((sum, { count }) => sum + count, 0) }
  const shown = rest.length > 1 ? [...refusals.slice(0, REASONS - 1), others] : refusals
  return shown.map(({ reason, count }) => ({ reason: WORDS[reason] ?? reason, count }))
}

/** Minutes shown soon after a start, when an hour would be mostly empty. Multiples of 4, for whole minutes on the x axis. */
const SPANS = [4, 8, 20, 40]

/** Up to this many minutes, there is a point every ten seconds. */
const MAX_DETAILED = 8

/** What is refused has one color in all charts, and what failed another one. */
const TONES: Readonly<Record<string, Series['tone']>> = {
  'Not valid': 'warn',
  Refused: 'warn',
  Failed: 'bad',
  Median: 'quiet',
}

export function overviewCharts(statistics: Statistics): Chart[] {
  const { minutes, span } = shownOf(statistics)
  const moments = minutes.map(({ endedAt }) => endedAt)
  const lines = (
    [id, title, description]: readonly [string, string, string],
    series: Record<string, (traffic: Traffic) => number | undefined>,
    [format, step] = [short, 1] as readonly [Chart['format'], number],
  ): Chart => ({
    ...{ id, title, moments, outages: statistics.outages, format, step },
    description: `${description}, ${span}.`,
    series: Object.entries(series).map(([label, of]) => ({
      label,
      tone: TONES[label],
      figures: minutes.map(({ traffic }) => (traffic ? of(traffic) : undefined)),
    })),
  })
  const stacked = (...of: Parameters<typeof lines>): Chart => ({ ...lines(...of), isStacked: true })
  const latencies = (id: string, title: string, of: (traffic: Traffic) => Latency) => {
    const meaning = 'How long requests take: half of them are faster than the median, 99 % faster than p99'
    const p99 = (traffic: Traffic) => of(traffic)?.p99Seconds
    const series = { p99, Median: (traffic: Traffic) => of(traffic)?.p50Seconds }
    return lines([id, title, meaning], series, [duration, 0.0001])
  }
  const refused = 'Requests that were refused, and requests that failed with 5xx; without token checks'
  return [
    lines(['tokens', 'Tokens issued per minute', 'Access tokens that were issued'], { Tokens: ({ tokens }) => tokens }),
    stacked(['checks', 'Token checks per minute', 'Checks of tokens'], {
      Valid: ({ activeChecks }) => activeChecks,
      'Not valid': ({ inactiveChecks }) => inactiveChecks,
    }),
    stacked(['refusals', 'Refused requests per minute', refused], {
      Refused: ({ refusals }) => refusals,
      Failed: ({ failures }) => failures,
    }),
    latencies('token-latency', 'Response time: tokens', ({ tokenLatency }) => tokenLatency),
    latencies('check-latency', 'Response time: checks', ({ checkLatency }) => checkLatency),
  ]
}

/** The points to show, and their time span in words. The span grows with the uptime of the server. */
function shownOf({ at, startedAt, lastTenMinutes, minutes }: Statistics) {
  const length = SPANS.find((span) => at - startedAt < span * MINUTE)
  if (length === undefined) return { minutes, span: 'over the last hour' }
  const span = `over the last ${length} minutes`
  if (length > MAX_DETAILED) return { minutes: minutes.slice(-length - 1), span }
  return { minutes: lastTenMinutes.slice(-length * 6 - 1), span }
}

const WHOLE = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })
const SHORT = new Intl.NumberFormat('en', { maximumSignificantDigits: 2 })

/** A non-breaking space between figure and unit. */
const SPACE = '\u00a0'

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB']

export const NONE = '–'

/** A count such as 1,234; in short form from a million on. */
export function count(number: number): string {
  return number < 1e6 ? WHOLE.format(number) : short(number)
}

/** A count in short form: 1.5K. */
export function short(number: number): string {
  return COMPACT.format(number)
}

/** `12 % above`, `3 % below`. */
export function changeOf(before: number, now: number): string {
  const percent = Math.round((now / before - 1) * 100)
  return `${WHOLE.format(Math.abs(percent))}${SPACE}% ${percent < 0 ? 'below' : 'above'}`
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
