import type { Latency, Statistics, Traffic } from '../../domain/statistics.ts'
import { type Chart, drawChart, type LiveValues, type Series, times } from './chart.ts'

// The figures of the overview.

/** How many reasons for refusals are listed, with one row for all others. */
export const REASONS = 6

/** Browsers request a favicon by themselves. That is not a mistake of a client. */
const WORDS: Record<string, string> = { 'no such endpoint': 'no such endpoint, such as /favicon.ico' }

/** The changing values of the overview. For `data-live-if`, an empty text means false. */
export function overviewLiveValues(statistics: Statistics): LiveValues {
  return {
    at: new Date(statistics.at).toISOString(),
    version: statistics.version,
    uptime: uptime(statistics),
    ...ofTraffic(statistics),
    ...ofReasons(statistics),
    ...ofServer(statistics),
    ...Object.assign({}, ...overviewCharts(statistics).map(drawChart)),
  }
}

function uptime({ at, startedAt }: Statistics): string {
  const minutes = Math.floor(Math.max(at - startedAt, 0) / 60_000)
  if (minutes < 1) return 'less than a minute'
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`
}

function ofTraffic({ lastMinute, lastHour, liveTokens }: Statistics): LiveValues {
  const checks = lastHour.activeChecks + lastHour.inactiveChecks
  return {
    'tokens-minute': count(lastMinute.tokens),
    'tokens-hour': count(lastHour.tokens),
    'no-tokens': state(lastHour.tokens === 0),
    'live-tokens': liveTokens ? `${liveTokens.isExact ? '' : 'about '}${count(liveTokens.count)}` : NONE,
    'checks-minute': count(lastMinute.activeChecks + lastMinute.inactiveChecks),
    'checks-hour': count(checks),
    'checks-active': checks === 0 ? '' : `, ${percent(lastHour.activeChecks / checks)} valid`,
    'refusals-minute': count(lastMinute.refusals),
    'refusals-hour': count(lastHour.refusals),
    'no-refusals': state(lastHour.refusals === 0),
    'token-p99': duration(lastHour.tokenLatency?.p99),
    'check-p99': duration(lastHour.checkLatency?.p99),
  }
}

/** The most frequent reasons, and the others together. Bars are up to 100 units wide. */
function ofReasons({ refusals }: Statistics): LiveValues {
  const rest = refusals.slice(REASONS - 1)
  const others = { reason: 'other reasons', count: rest.reduce((sum, { count }) => sum + count, 0) }
  const shown = rest.length > 1 ? [...refusals.slice(0, REASONS - 1), others] : refusals
  const most = Math.max(...shown.map(({ count }) => count))
  return Object.assign(
    {},
    ...times(REASONS, (n) => {
      const one = shown[n]
      return {
        [`reason-${n}`]: one ? (WORDS[one.reason] ?? one.reason) : '',
        [`reason-${n}-count`]: one ? count(one.count) : '',
        [`reason-${n}-bar`]: one ? `M0,4H${Math.round((one.count * 1000) / most) / 10}` : '',
      }
    }),
  )
}

function ofServer({ workers, store, endingSecrets }: Statistics): LiveValues {
  const { expected, serving, each } = workers
  const ofEach = times(expected, (n) => {
    const one = each.find(({ worker }) => worker === n + 1)
    return {
      [`worker-${n}-cpu`]: one ? percent(one.cpuSeconds) : NONE,
      [`worker-${n}-memory`]: size(one?.residentBytes),
      [`worker-${n}-lag`]: duration(one?.lagSeconds),
    }
  })
  const isInMemory = store.databaseBytes === 0
  const log = isInMemory || store.logBytes === undefined ? '' : `, write-ahead log ${size(store.logBytes)}`
  return {
    workers: expected === 1 ? count(serving) : `${count(serving)} of ${count(expected)}`,
    'workers-missing': state(serving < expected),
    cpu: each.length === 0 ? NONE : percent(each.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)),
    memory: each.length === 0 ? NONE : size(each.reduce((sum, { residentBytes }) => sum + residentBytes, 0)),
    'store-size': isInMemory ? 'in memory' : size(store.databaseBytes),
    'store-place': isInMemory ? 'lost when the server stops' : `on disk${log}`,
    'store-log': log,
    'store-up': state(store.isUp),
    'store-down': state(!store.isUp),
    'ending-week': endingSecrets ? count(endingSecrets.inAWeek) : NONE,
    'ending-day': endingSecrets ? count(endingSecrets.inADay) : NONE,
    ...Object.assign({}, ...ofEach),
  }
}

/** A value for `data-live-if`. */
function state(isTrue: boolean): string {
  return isTrue ? 'yes' : ''
}

/** Minutes shown soon after a start, when an hour would be mostly empty. Multiples of 4, for whole minutes on the x axis. */
const SPANS = [4, 8, 20, 40]

/** Up to this many minutes, there is a point every ten seconds. */
const MAX_LATELY = 8

const MINUTE_MS = 60_000

/** The charts of the overview, in their order. */
export function overviewCharts(statistics: Statistics): Chart[] {
  const { minutes, span } = shownOf(statistics)
  const moments = minutes.map(({ endedAt }) => endedAt)
  const series = (label: string, of: (traffic: Traffic) => number | undefined): Series => ({
    label,
    figures: minutes.map(({ traffic }) => traffic && of(traffic)),
  })
  const counted = { moments, write: short, step: 1 }
  const latencies = (id: string, title: string, of: (traffic: Traffic) => Latency | undefined): Chart => ({
    moments,
    write: duration,
    step: 0.0001,
    id,
    title,
    description: `How long requests take, ${span}: half of them are faster than the median, 99 % faster than p99.`,
    series: [series('p99', (traffic) => of(traffic)?.p99), series('Median', (traffic) => of(traffic)?.p50)],
  })
  return [
    {
      ...counted,
      id: 'tokens',
      title: 'Tokens issued per minute',
      description: `Access tokens that were issued, ${span}.`,
      series: [series('Tokens', ({ tokens }) => tokens)],
    },
    {
      ...counted,
      id: 'checks',
      title: 'Token checks per minute',
      description: `Checks of tokens, ${span}.`,
      series: [
        series('Valid', ({ activeChecks }) => activeChecks),
        series('Not valid', ({ inactiveChecks }) => inactiveChecks),
      ],
    },
    {
      ...counted,
      id: 'refusals',
      title: 'Refusals per minute',
      description: `Requests that were refused or failed, ${span}.`,
      series: [series('Refusals', ({ refusals }) => refusals)],
    },
    latencies('token-latency', 'Response time: tokens', ({ tokenLatency }) => tokenLatency),
    latencies('check-latency', 'Response time: checks', ({ checkLatency }) => checkLatency),
  ]
}

/** The points to show, and their time span in words. The span grows with the uptime of the server. */
function shownOf({ at, startedAt, lately, minutes }: Statistics) {
  const length = SPANS.find((span) => at - startedAt < span * MINUTE_MS)
  if (length === undefined) return { minutes, span: 'over the last hour' }
  const span = `over the last ${length} minutes`
  if (length > MAX_LATELY) return { minutes: minutes.slice(-length - 1), span }
  return { minutes: lately.slice(-length * 6 - 1), span }
}

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
