import type { Latency, Minute, RefusedFor, Statistics, Traffic } from '../../domain/statistics.ts'
import type { Clock } from '../../domain/time.ts'
import { CATALOGUE, CHECKS, type Metric } from './catalogue.ts'
import type { Name, Numbers } from './numbers.ts'

/** How many minutes, spans of ten seconds, and seconds are kept. */
const MINUTES = 60
const TENS = 60
const SECONDS = 60

const TENS_PER_MINUTE = 6

/** How many seconds late a snapshot may be. A later one is skipped, because it would count for the wrong span. */
const MAX_LATE = { minute: 10, ten: 3 }

const { buckets: BOUNDS } = CATALOGUE.http_request_duration_seconds as Required<Metric>

interface Options {
  now: Clock
  /** Milliseconds of a monotonic clock. */
  monotonic: Clock
}

export type History = ReturnType<typeof createHistory>

/**
 * Keeps snapshots of the counters: one for each minute of the last hour, for each ten seconds of the last ten minutes, and for
 * each second of the last minute. Memory use is constant. Call `takeSnapshot` once a second.
 */
export function createHistory(numbers: Numbers, { now, monotonic }: Options) {
  const columns = createColumns(numbers)
  const minutes = createRing(MINUTES + 1, columns.count)
  const tens = createRing(TENS + TENS_PER_MINUTE + 1, columns.count)
  const seconds = createRing(SECONDS + 1, columns.count)
  // Based on the monotonic clock, so that a jump of the system clock shifts the whole history instead of tearing it apart.
  const begin = now() - monotonic()
  const second = () => Math.floor((begin + monotonic()) / 1000)
  const firstSecond = second()
  minutes.set(Math.floor(firstSecond / 60), columns.read())
  tens.set(Math.floor(firstSecond / 10), columns.read())
  seconds.set(firstSecond, columns.read())

  /** What was counted since `from`, or since the oldest snapshot after it. */
  function since(ring: Ring, from: number, to: number): Float64Array {
    const present = columns.read()
    return between(oldest(ring, from, to) ?? present, present) as Float64Array
  }

  const asTraffic = (counted: Float64Array | undefined) => counted && columns.trafficOf(counted)

  return {
    takeSnapshot(): void {
      const at = second()
      if (!seconds.get(at)) seconds.set(at, columns.read())
      const minute = Math.floor(at / 60)
      if (at % 60 < MAX_LATE.minute && !minutes.get(minute)) minutes.set(minute, columns.read())
      const ten = Math.floor(at / 10)
      if (at % 10 < MAX_LATE.ten && !tens.get(ten)) tens.set(ten, columns.read())
    },

    read(): Pick<Statistics, 'lastMinute' | 'lastHour' | 'minutes' | 'lately' | 'refusals'> {
      const at = second()
      const minute = Math.floor(at / 60)
      const hour = since(minutes, minute - MINUTES, minute)
      const lastMinute = columns.trafficOf(since(seconds, at - SECONDS, at))
      // Rounded to seconds, because the two clocks do not tick at the same time.
      const clockOffset = Math.round((now() - begin - monotonic()) / 1000) * 1000
      const present: Minute = { endedAt: now(), traffic: lastMinute }
      const past = Array.from({ length: MINUTES }, (_, index): Minute => {
        const end = minute - MINUTES + index + 1
        const traffic = asTraffic(between(minutes.get(end - 1), minutes.get(end)))
        return { endedAt: end * 60_000 + clockOffset, traffic }
      })
      const ten = Math.floor(at / 10)
      const lately = Array.from({ length: TENS }, (_, index): Minute => {
        const end = ten - TENS + index + 1
        const traffic = asTraffic(between(oldest(tens, end - TENS_PER_MINUTE, end), tens.get(end)))
        return { endedAt: end * 10_000 + clockOffset, traffic }
      })
      return {
        lastMinute,
        lastHour: columns.trafficOf(hour),
        minutes: [...past, present],
        lately: [...lately, present],
        refusals: columns.refusalsOf(hour),
      }
    },
  }
}

/** What was counted between two snapshots. Undefined if one of them is missing. */
function between(from: Float64Array | undefined, to: Float64Array | undefined): Float64Array | undefined {
  return from && to?.map((value, column) => value - (from[column] as number))
}

/** The oldest snapshot that is kept, starting at `from`. */
function oldest(ring: Ring, from: number, to: number): Float64Array | undefined {
  let at = from
  while (at < to && !ring.get(at)) at++
  return ring.get(at)
}

type Ring = ReturnType<typeof createRing>

/** A ring buffer of rows. A new row replaces the oldest one. */
function createRing(length: number, width: number) {
  const rows = Array.from({ length }, () => ({ number: -1, values: new Float64Array(width) }))
  const rowOf = (number: number) => rows[number % length] as (typeof rows)[number]
  return {
    set(number: number, values: Float64Array): void {
      const row = rowOf(number)
      row.number = number
      row.values.set(values)
    },
    get(number: number): Float64Array | undefined {
      const row = rowOf(number)
      return row.number === number ? row.values : undefined
    },
  }
}

/** The columns of a snapshot: each is a sum of counters. */
function createColumns(numbers: Numbers) {
  const sums: number[][] = []
  /** Adds a column. Returns its index. */
  const add = (places: number[]) => sums.push(places) - 1
  const seriesOf = (name: Name) => numbers.seriesOf(name)
  const checks = seriesOf('token_checks_total')
  const isActive = ({ labels }: (typeof checks)[number]) => labels[0] === 'active'

  const tokens = add(seriesOf('tokens_issued_total').map(({ at }) => at))
  const activeChecks = add(checks.filter(isActive).map(({ at }) => at))
  const inactiveChecks = add(checks.filter((one) => !isActive(one)).map(({ at }) => at))
  const reasons = (['authentication', 'request'] as const).flatMap((kind) =>
    seriesOf(`${kind}_refusals_total`).map(({ labels, at }) => ({ kind, reason: String(labels[0]), at: add([at]) })),
  )
  const tokenTimes = histogram(['/v1/oauth/accesstoken'])
  const checkTimes = histogram(CHECKS)

  /** Adds a column for each bucket of the request durations at these endpoints. */
  function histogram(endpoints: readonly string[]): number[] {
    const series = seriesOf('http_request_duration_seconds').filter(({ labels }) =>
      endpoints.includes(String(labels[0])),
    )
    return Array.from({ length: BOUNDS.length + 1 }, (_, bucket) => add(series.map(({ at }) => at + bucket)))
  }

  function latencyOf(counted: Float64Array, histogram: number[]): Latency | undefined {
    const counts = histogram.map((column) => counted[column] as number)
    const [p50, p99] = [quantile(0.5, counts, BOUNDS), quantile(0.99, counts, BOUNDS)]
    return p50 === undefined || p99 === undefined ? undefined : { p50, p99 }
  }

  return {
    count: sums.length,
    read: () => Float64Array.from(sums, (places) => places.reduce((sum, at) => sum + numbers.valueAt(at), 0)),

    trafficOf: (counted: Float64Array): Traffic => ({
      tokens: counted[tokens] as number,
      activeChecks: counted[activeChecks] as number,
      inactiveChecks: counted[inactiveChecks] as number,
      refusals: reasons.reduce((sum, { at }) => sum + (counted[at] as number), 0),
      tokenLatency: latencyOf(counted, tokenTimes),
      checkLatency: latencyOf(counted, checkTimes),
    }),

    refusalsOf: (counted: Float64Array): RefusedFor[] =>
      reasons
        .map(({ kind, reason, at }) => ({ kind, reason, count: counted[at] as number }))
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
