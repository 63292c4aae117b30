import type { Statistics } from '../../domain/statistics.ts'
import { drawChart, type LiveValues } from './chart.ts'
import { count, duration, NONE, percent, size } from './figures.ts'
import { overviewCharts } from './overview-charts.ts'

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
    ...Array.from({ length: REASONS }, (_, n) => {
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
  const ofEach = Array.from({ length: expected }, (_, n) => {
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
