import type { Event, Observer } from '../../domain/events.ts'
import type { EventOf } from '../audit-log.ts'
import { CATALOGUE, type Metric, STATUSES } from './catalogue.ts'
import type { Counters, MetricName } from './counters.ts'

type Handlers = { [T in Event['type']]?: (event: EventOf<T>) => void }

/** Every status is below this. */
const STATUS_LIMIT = 1000

/** Counts events. Called several times for each request, so it allocates nothing. */
export function createEventCounter(counters: Counters): Observer {
  const { indexesOf, increment, incrementByReason, addCount, histogram } = createRecorders(counters)
  const requests = indexesOf('http_requests_total')
  const abandoned = indexesOf('http_requests_abandoned_total')
  const duration = histogram('http_request_duration_seconds')
  const batch = histogram('write_batch_size')
  const commit = histogram('commit_duration_seconds')
  const sync = histogram('disk_sync_duration_seconds')
  const roundTrip = histogram('database_round_trip_duration_seconds')
  // The position of each status in STATUSES. One that is not listed would be a bug and counts as 500.
  const statuses = new Uint8Array(STATUS_LIMIT).fill(STATUSES.indexOf('500'))
  for (const [index, status] of STATUSES.entries()) statuses[Number(status)] = index

  const handlers: Handlers = {
    'request answered': ({ endpoint, status, seconds }) => {
      counters.add((requests.get(endpoint) as number) + (statuses[status] as number), 1)
      // Answers of 429 are delayed on purpose, so their duration says nothing about this server's speed.
      if (seconds !== undefined && status !== 429) duration(seconds, endpoint)
    },
    'request abandoned': ({ endpoint, seconds }) => {
      counters.add(abandoned.get(endpoint) as number, 1)
      duration(seconds, endpoint)
    },
    'check passed': increment('token_checks_total', 'active'),
    'token refused': incrementByReason('token_checks_total'),
    'token issued': increment('tokens_issued_total'),
    'token revoked': increment('tokens_revoked_total'),
    'authentication refused': incrementByReason('authentication_refusals_total'),
    'request refused': incrementByReason('request_refusals_total'),
    'request failed': incrementByReason('request_refusals_total'),
    'quota refusal': increment('request_refusals_total', 'token quota exceeded'),
    'request would be refused': incrementByReason('reported_refusals_total'),
    'connection closed': incrementByReason('connections_closed_total'),
    'batch written': ({ size, seconds }) => {
      batch(size)
      commit(seconds)
    },
    'disk synced': ({ seconds }) => sync(seconds),
    'round trip': ({ seconds, kind }) => roundTrip(seconds, kind),
    'tokens purged': addCount('purged_tokens_total'),
    'purge failed': increment('background_failures_total', 'purge'),
    'usage not recorded': increment('background_failures_total', 'usage'),
    'refusals not recorded': increment('background_failures_total', 'refusals'),
    'notices not recorded': increment('background_failures_total', 'notices'),
    'issuer keys not fetched': increment('background_failures_total', 'issuer keys'),
    'notice delivered': increment('notice_attempts_total', 'delivered'),
    'notice not delivered': increment('notice_attempts_total', 'failed'),
    'log lines dropped': addCount('log_lines_dropped_total'),
    'database lost': increment('database_losses_total'),
    'clock jumped': increment('clock_jumps_total'),
    'worker replaced': incrementByReason('worker_restarts_total'),
  }
  const byType = handlers as Record<string, ((event: Event) => void) | undefined>
  return (event) => byType[event.type]?.(event)
}

function createRecorders({ add, seriesOf }: Counters) {
  /** The index of the first series for each value of a metric's first label; undefined for a metric without labels. */
  function indexesOf(name: MetricName): Map<string | undefined, number> {
    return new Map(
      seriesOf(name)
        .map(({ labels, at }) => [labels[0], at] as const)
        .reverse(),
    )
  }

  function increment(name: MetricName, label?: string): () => void {
    const at = indexesOf(name).get(label) as number
    return () => add(at, 1)
  }

  function incrementByReason(name: MetricName): (event: { reason: string }) => void {
    const indexes = indexesOf(name)
    return ({ reason }) => add(indexes.get(reason) as number, 1)
  }

  function addCount(name: MetricName): (event: { count: number }) => void {
    const at = indexesOf(name).get(undefined) as number
    return ({ count }) => add(at, count)
  }

  /** Records values of a histogram with at most one label. */
  function histogram(name: MetricName): (value: number, label?: string) => void {
    const indexes = indexesOf(name)
    const { buckets = [] } = CATALOGUE[name] as Metric
    const beyond = buckets.length
    return (value, label) => {
      const at = indexes.get(label) as number
      let bucket = 0
      while (bucket < beyond && value > (buckets[bucket] as number)) bucket++
      add(at + bucket, 1)
      add(at + beyond + 1, value)
    }
  }

  return { indexesOf, increment, incrementByReason, addCount, histogram }
}
