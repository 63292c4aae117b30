import { isFailure } from '../../domain/reasons.ts'
import type { Latency, Minute, Outage, RefusedFor, Statistics, Traffic } from '../../domain/statistics.ts'
import type { Clock } from '../../domain/time.ts'
import { CATALOGUE, CHECKS, type Metric } from './catalogue.ts'
import type { Counters, Series } from './counters.ts'

/** How many spans of each length are kept. */
const MINUTES = 60
const TENS = 60
const SECONDS = 60

const TENS_PER_MINUTE = 6

const { buckets: BOUNDS } = CATALOGUE.http_request_duration_seconds as Required<Metric>

/**
 * Keeps snapshots of the counters: one for each minute of the last hour, for each ten seconds of the last ten minutes, and for
 * each second of the last minute. Memory use is constant. Call `takeSnapshot` once a second.
 */
export function createHistory(counters: Counters, { now, monotonic }: { now: Clock; monotonic: Clock }) {
  const { read, trafficOf, refusalsOf } = createColumns(counters)
  const minutes = createSnapshots(read, { seconds: 60, length: MINUTES + 1, maxLate: 10 })
  const tens = createSnapshots(read, { seconds: 10, length: TENS + TENS_PER_MINUTE + 1, maxLate: 3 })
  const seconds = createSnapshots(read, { seconds: 1, length: SECONDS + 1, maxLate: 1 })
  // Based on the monotonic clock, so that a jump of the system clock shifts the whole history instead of tearing it apart.
  const begin = now() - monotonic()
  const { outages, take: takeOutage } = createOutages(counters, now)
  const listOutages = (): readonly Outage[] => [...outages]
  const second = () => Math.floor((begin + monotonic()) / 1000)

  function takeSnapshot(): void {
    const at = second()
    for (const snapshots of [minutes, tens, seconds]) snapshots.take(at)
    takeOutage()
  }
  takeSnapshot()

  return {
    takeSnapshot,

    outages: listOutages,

    read(): Pick<Statistics, 'lastMinute' | 'lastHour' | 'minutes' | 'lastTenMinutes' | 'refusals' | 'outages'> {
      const at = second()
      const minute = Math.floor(at / 60)
      const ten = Math.floor(at / 10)
      const current = read()
      const hour = difference(minutes.oldest(minute - MINUTES, minute) ?? current, current)
      const lastMinute = trafficOf(difference(seconds.oldest(at - SECONDS, at) ?? current, current))
      // Rounded to seconds, because the two clocks do not tick at the same time.
      const clockOffset = Math.round((now() - begin - monotonic()) / 1000) * 1000
      const present: Minute = { endedAt: now(), traffic: lastMinute }
      const pastMinutes = Array.from({ length: MINUTES }, (_, index): Minute => {
        const end = minute - MINUTES + index + 1
        return { endedAt: end * 60_000 + clockOffset, traffic: between(minutes.get(end - 1), minutes.get(end)) }
      })
      const pastTens = Array.from({ length: TENS }, (_, index): Minute => {
        const end = ten - TENS + index + 1
        const from = tens.oldest(end - TENS_PER_MINUTE, end)
        return { endedAt: end * 10_000 + clockOffset, traffic: between(from, tens.get(end)) }
      })
      return {
        lastMinute,
        lastHour: trafficOf(hour),
        minutes: [...pastMinutes, present],
        lastTenMinutes: [...pastTens, present],
        refusals: refusalsOf(hour),
        outages: listOutages(),
      }
    },
  }

  /** The traffic between two snapshots. Undefined if one of them is missing. */
  function between(from: Float64Array | undefined, to: Float64Array | undefined): Traffic | undefined {
    return from && to && trafficOf(difference(from, to))
  }
}

function difference(from: Float64Array, to: Float64Array): Float64Array {
  return to.map((value, column) => value - (from[column] as number))
}

type SnapshotOptions = Record<'seconds' | 'length' | 'maxLate', number>

/**
 * A ring buffer of the last `length` snapshots, one every `seconds` seconds. Each has the number of the span that it begins,
 * counted since the epoch. One that would be more than `maxLate` seconds late is skipped: it would count for the wrong span.
 */
function createSnapshots(read: () => Float64Array, { seconds, length, maxLate }: SnapshotOptions) {
  const ring: { number: number; values: Float64Array }[] = []

  function get(number: number): Float64Array | undefined {
    const snapshot = ring[number % length]
    return snapshot?.number === number ? snapshot.values : undefined
  }

  return {
    get,

    /** Takes a snapshot if one is due. `second`: since the epoch. */
    take(second: number): void {
      const number = Math.floor(second / seconds)
      const isInTime = ring.length === 0 || second % seconds < maxLate
      if (isInTime && !get(number)) ring[number % length] = { number, values: read() }
    },

    /** The oldest snapshot that is kept of the spans from `from` to `to`. */
    oldest(from: number, to: number): Float64Array | undefined {
      let number = from
      while (number < to && !get(number)) number++
      return get(number)
    },
  }
}

/** How many outages are kept. */
const MAX_OUTAGES = 10

/** An outage ends after this long without a request that failed. Milliseconds. */
const OUTAGE_GAP_MS = 60_000

/** Notices outages of the store, from the requests that fail. Call `take` once a second. */
function createOutages(counters: Counters, now: Clock) {
  const outages: Outage[] = []
  const newFailures = countFailures(counters)
  return {
    outages,
    take(): void {
      const failures = newFailures()
      if (failures === 0) return
      addFailures(outages, now(), failures)
      outages.splice(0, outages.length - MAX_OUTAGES)
    },
  }
}

/** Adds requests that failed at this time to the last outage, or begins another one. */
export function addFailures(outages: Outage[], endedAt: number, failures: number): void {
  const last = outages.at(-1)
  if (last && endedAt - last.endedAt < OUTAGE_GAP_MS) {
    outages[outages.length - 1] = { ...last, endedAt, failures: last.failures + failures }
  } else outages.push({ beganAt: endedAt, endedAt, failures })
}

/** Returns a function that returns how many requests have failed since its last call because the store could not be used. */
export function countFailures({ seriesOf, valueAt }: Counters): () => number {
  const isOfStore = ({ labels }: Series) => labels[0] === 'store unavailable'
  const { at } = seriesOf('request_refusals_total').find(isOfStore) as Series
  let seen = valueAt(at)
  return () => {
    const before = seen
    seen = valueAt(at)
    return seen - before
  }
}

/** The columns of a snapshot: each is a sum of counters. */
function createColumns({ seriesOf, valueAt }: Counters) {
  const sums: number[][] = []
  /** Adds a column. Returns its index. */
  const add = (series: { at: number }[], offset = 0) => sums.push(series.map(({ at }) => at + offset)) - 1
  const checks = seriesOf('token_checks_total')
  const isActive = ({ labels }: Series) => labels[0] === 'active'
  const tokens = add(seriesOf('tokens_issued_total'))
  const activeChecks = add(checks.filter(isActive))
  const column = (kind: RefusedFor['kind'], one: Series) => {
    const reason = String(one.labels[0])
    return { kind: isFailure(reason) ? ('failure' as const) : kind, reason, column: add([one]) }
  }
  const reasons = [
    ...seriesOf('authentication_refusals_total').map((one) => column('authentication', one)),
    ...seriesOf('request_refusals_total').map((one) => column('request', one)),
    ...checks.filter((one) => !isActive(one)).map((one) => column('check', one)),
  ]
  const tokenTimes = histogram(['/v1/oauth/accesstoken'])
  const checkTimes = histogram(CHECKS)

  /** Adds a column for each bucket of the request durations at these endpoints. */
  function histogram(endpoints: readonly string[]): number[] {
    const all = seriesOf('http_request_duration_seconds')
    const series = all.filter(({ labels }) => endpoints.includes(String(labels[0])))
    return Array.from({ length: BOUNDS.length + 1 }, (_, bucket) => add(series, bucket))
  }

  function sumOf(counted: Float64Array, ...kinds: RefusedFor['kind'][]): number {
    return reasons.reduce((sum, { kind, column }) => sum + (kinds.includes(kind) ? (counted[column] as number) : 0), 0)
  }

  function latencyOf(counted: Float64Array, histogram: number[]): Latency {
    const counts = histogram.map((column) => counted[column] as number)
    const [p50Seconds, p99Seconds] = [quantile(0.5, counts, BOUNDS), quantile(0.99, counts, BOUNDS)]
    return p50Seconds === undefined || p99Seconds === undefined ? undefined : { p50Seconds, p99Seconds }
  }

  return {
    read: () => Float64Array.from(sums, (indexes) => indexes.reduce((sum, at) => sum + valueAt(at), 0)),

    trafficOf: (counted: Float64Array): Traffic => ({
      tokens: counted[tokens] as number,
      activeChecks: counted[activeChecks] as number,
      inactiveChecks: sumOf(counted, 'check'),
      refusals: sumOf(counted, 'authentication', 'request'),
      failures: sumOf(counted, 'failure'),
      tokenLatency: latencyOf(counted, tokenTimes),
      checkLatency: latencyOf(counted, checkTimes),
    }),

    refusalsOf: (counted: Float64Array): RefusedFor[] =>
      reasons
        .map(({ kind, reason, column }) => ({ kind, reason, count: counted[column] as number }))
        .filter(({ count }) => count > 0)
        .sort((one, other) => other.count - one.count),
  }
}

/**
 * Estimates a quantile of a histogram like Prometheus, by linear interpolation within a bucket. `share`: 0 to 1. `counts`: not
 * cumulative, one for each bound and one for larger values. Undefined if the histogram is empty.
 */
export function quantile(share: number, counts: readonly number[], bounds: readonly number[]): number | undefined {
  const rank = share * counts.reduce((sum, count) => sum + count, 0)
  if (rank === 0) return undefined
  let below = 0
  for (const [bucket, bound] of bounds.entries()) {
    const count = counts[bucket] as number
    if (below + count >= rank) {
      const lower = bounds[bucket - 1] ?? 0
      return lower + ((bound - lower) * (rank - below)) / count
    }
    below += count
  }
  return bounds.at(-1)
}
