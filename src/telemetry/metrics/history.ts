import { isFailure } from '../../domain/reasons.ts'
import { OUTAGE_GAP_MS } from '../../domain/statistics.ts'
import type { Clock } from '../../domain/time.ts'
import type { Latency, Minute, Outage, RefusedFor, Statistics, Traffic } from '../../views/statistics.ts'
import { CATALOGUE, CHECKS, type Metric } from './catalogue.ts'
import type { Counters, Series } from './counters.ts'

/** In seconds. */
const MINUTE = 60
const HOUR = 60 * MINUTE

/** How many minutes are shown. They end a minute or ten seconds apart. */
const MINUTES = 60

/** A snapshot this many seconds late does not count as the beginning or the end of a minute. */
const TOO_LATE = 10

const { buckets: BOUNDS } = CATALOGUE.http_request_duration_seconds as Required<Metric>

/**
 * Keeps snapshots of the counters: one for each second of the last minute, for each ten seconds of the ten minutes before, and
 * for each minute of the last hour. Memory use is constant. Call `takeSnapshot` once a second.
 */
export function createHistory(counters: Counters, { now, monotonic }: { now: Clock; monotonic: Clock }) {
  const { trafficOf, refusalsOf } = createReaders(counters)
  /** Keyed by the second since the epoch in which they were taken. */
  const snapshots = new Map<number, Float64Array>()
  // Based on the monotonic clock, so that a jump of the system clock shifts the whole history instead of tearing it apart.
  const begin = now() - monotonic()
  const second = () => Math.floor((begin + monotonic()) / 1000)
  const startedAt = second()
  takeSnapshot()

  return {
    takeSnapshot,

    read(): Pick<Statistics, 'lastMinute' | 'lastHour' | 'minutes' | 'lastTenMinutes' | 'refusals'> {
      const at = second()
      const current = counters.values()
      const countedSince = (from: number) => difference(first(from, at + 1 - from) ?? current, current)
      const hour = countedSince(at - (at % MINUTE) - HOUR)
      const lastMinute = trafficOf(countedSince(at - MINUTE))
      // Rounded to seconds, because the two clocks do not tick at the same time.
      const clockOffset = Math.round((now() - begin - monotonic()) / 1000) * 1000
      /** Minutes that end `step` seconds apart, and the 60 seconds up to now. */
      const minutesBy = (step: number): Minute[] => {
        const past = Array.from({ length: MINUTES }, (_, n): Minute => {
          const end = at - (at % step) - (MINUTES - 1 - n) * step
          return { endedAt: end * 1000 + clockOffset, traffic: minuteUntil(end) }
        })
        return [...past, { endedAt: now(), traffic: lastMinute }]
      }
      return {
        lastMinute,
        lastHour: trafficOf(hour),
        minutes: minutesBy(MINUTE),
        lastTenMinutes: minutesBy(10),
        refusals: refusalsOf(hour),
      }
    },
  }

  function takeSnapshot(): void {
    const at = second()
    if (!snapshots.has(at)) snapshots.set(at, counters.values())
    for (const taken of snapshots.keys()) {
      const age = at - taken
      const step = age <= MINUTE ? 1 : age <= 11 * MINUTE ? 10 : MINUTE
      const isOneTooMany = first(taken - (taken % step), taken % step) !== undefined
      if (isOneTooMany || age > HOUR + MINUTE) snapshots.delete(taken)
    }
  }

  /** The first snapshot taken in these seconds, if any. */
  function first(from: number, seconds: number): Float64Array | undefined {
    for (let taken = from; taken < from + seconds; taken++) {
      const found = snapshots.get(taken)
      if (found) return found
    }
    return undefined
  }

  /** The traffic of the minute that ended in this second, or since the start. Undefined if unknown. */
  function minuteUntil(end: number): Traffic | undefined {
    const from = first(Math.max(end - MINUTE, startedAt), TOO_LATE)
    const to = first(end, TOO_LATE)
    return from && to && end > startedAt ? trafficOf(difference(from, to)) : undefined
  }
}

/** How much a number, given by its index, rose between two snapshots. */
type Counted = (at: number) => number

function difference(from: Float64Array, to: Float64Array): Counted {
  return (at) => (to[at] as number) - (from[at] as number)
}

function createReaders({ seriesOf }: Counters) {
  const checks = seriesOf('token_checks_total')
  const isActive = ({ labels }: Series) => labels[0] === 'active'
  const [active, inactive] = [checks.filter(isActive), checks.filter((one) => !isActive(one))]
  const reasons = [
    ...reasonsOf('authentication', seriesOf('authentication_refusals_total')),
    ...reasonsOf('request', seriesOf('request_refusals_total')),
    ...reasonsOf('check', inactive),
  ]
  const ofKinds = (...kinds: RefusedFor['kind'][]) => reasons.filter(({ kind }) => kinds.includes(kind))
  const [refusedChecks, refused, failed] = [ofKinds('check'), ofKinds('authentication', 'request'), ofKinds('failure')]
  const durationsOf = (endpoints: readonly string[]) =>
    seriesOf('http_request_duration_seconds').filter(({ labels }) => endpoints.includes(String(labels[0])))
  const [tokenTimes, checkTimes] = [durationsOf(['/v1/oauth/accesstoken']), durationsOf(CHECKS)]

  return {
    trafficOf: (counted: Counted): Traffic => ({
      tokens: sumOf(counted, seriesOf('tokens_issued_total')),
      activeChecks: sumOf(counted, active),
      inactiveChecks: sumOf(counted, refusedChecks),
      refusals: sumOf(counted, refused),
      failures: sumOf(counted, failed),
      tokenLatency: latencyOf(counted, tokenTimes),
      checkLatency: latencyOf(counted, checkTimes),
    }),

    refusalsOf: (counted: Counted): RefusedFor[] =>
      reasons
        .map(({ kind, reason, at }) => ({ kind, reason, count: counted(at) }))
        .filter(({ count }) => count > 0)
        .sort((one, other) => other.count - one.count),
  }
}

function reasonsOf(kind: RefusedFor['kind'], series: readonly Series[]) {
  return series.map(({ labels, at }) => {
    const reason = String(labels[0])
    return { kind: isFailure(reason) ? ('failure' as const) : kind, reason, at }
  })
}

function sumOf(counted: Counted, series: readonly { at: number }[], offset = 0): number {
  return series.reduce((sum, { at }) => sum + counted(at + offset), 0)
}

function latencyOf(counted: Counted, histograms: readonly Series[]): Latency {
  const counts = Array.from({ length: BOUNDS.length + 1 }, (_, bucket) => sumOf(counted, histograms, bucket))
  const [p50Seconds, p99Seconds] = [quantile(0.5, counts, BOUNDS), quantile(0.99, counts, BOUNDS)]
  return p50Seconds === undefined || p99Seconds === undefined ? undefined : { p50Seconds, p99Seconds }
}

/**
 * Estimates a quantile of a histogram as Prometheus does, by linear interpolation within a bucket. `share`: 0 to 1. `counts` are
 * not cumulative: one for each bound, and one for larger values. Undefined if the histogram is empty.
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

const MAX_OUTAGES = 10

/** Requests that failed at the same time. */
export function outageAt(at: number, failures: number): Outage {
  return { beganAt: at, endedAt: at, failures }
}

/** The outages of the store, oldest first. Joins failures that are less than a minute apart. */
export function joinOutages(outages: readonly Outage[]): Outage[] {
  const joined: Outage[] = []
  for (const next of outages) {
    const last = joined.at(-1)
    const continued = last && next.beganAt - last.endedAt < OUTAGE_GAP_MS ? joined.pop() : undefined
    const { beganAt, failures } = continued ?? { beganAt: next.beganAt, failures: 0 }
    joined.push({ beganAt, endedAt: next.endedAt, failures: failures + next.failures })
  }
  return joined.slice(-MAX_OUTAGES)
}

/** Returns a function that counts the requests that failed since its last call because the store could not be used. */
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
