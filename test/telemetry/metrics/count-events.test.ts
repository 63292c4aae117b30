import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { createEventCounter } from '../../../src/telemetry/metrics/count-events.ts'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'

/** An observer, and all that is not 0 after what it saw: metric, labels, counters. */
function createCounting() {
  const counters = createCounters()
  const observe = createEventCounter(counters)
  function counted(name: string, width = 1): Record<string, number[]> {
    const series = counters.seriesOf(name).map(({ labels, at }): [string, number[]] => {
      return [labels.join(' '), Array.from({ length: width }, (_, index) => counters.valueAt(at + index))]
    })
    return Object.fromEntries(series.filter(([, values]) => values.some((value) => value !== 0)))
  }
  return { counters, observe, counted }
}

t.test('Counting: a request by endpoint and status, and its duration, but for 429, in a bucket', async (t) => {
  const { observe, counted } = createCounting()
  const endpoint = '/v1/oauth/accesstoken'
  for (const seconds of [0.0005, 0.00051, 11]) observe({ type: 'request answered', endpoint, status: 200, seconds })
  for (const status of [408, 418]) observe({ type: 'request answered', endpoint: 'other', status, seconds: undefined })
  observe({ type: 'request answered', endpoint: 'other', status: 429, seconds: 2 })
  observe({ type: 'request abandoned', endpoint, seconds: 3 })
  const others = { 'other 408': [1], 'other 429': [1], 'other 500': [1] }
  t.strictSame(counted('http_requests_total'), { [`${endpoint} 200`]: [3], ...others })
  t.strictSame(counted('http_requests_abandoned_total'), { [endpoint]: [1] })
  const buckets = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
  t.strictSame(counted('http_request_duration_seconds', 15), { [endpoint]: [...buckets, 0.0005 + 0.00051 + 11 + 3] })
})

t.test('Counting: an event is one more of its metric, with its label, and of nothing else', async (t) => {
  for (const [metric, label, event] of [
    ['tokens_issued_total', '', { type: 'token issued' }],
    ['tokens_revoked_total', '', { type: 'token revoked' }],
    ['token_checks_total', 'active', { type: 'check passed' }],
    ['token_checks_total', 'no such suite', { type: 'token refused', reason: 'no such suite' }],
    ['authentication_refusals_total', 'no credentials', { type: 'authentication refused', reason: 'no credentials' }],
    ['request_refusals_total', 'too many failures', { type: 'request refused', reason: 'too many failures' }],
    ['request_refusals_total', 'store unavailable', { type: 'request failed', reason: 'store unavailable' }],
    ['request_refusals_total', 'token quota exceeded', { type: 'quota refusal' }],
    ['connections_closed_total', 'answers not taken', { type: 'connection closed', reason: 'answers not taken' }],
    ['background_failures_total', 'purge', { type: 'purge failed' }],
    ['background_failures_total', 'usage', { type: 'usage not recorded' }],
    ['background_failures_total', 'refusals', { type: 'refusals not recorded' }],
    ['database_losses_total', '', { type: 'database lost' }],
    ['clock_jumps_total', '', { type: 'clock jumped' }],
    ['worker_restarts_total', 'rolling restart', { type: 'worker replaced', reason: 'rolling restart' }],
  ] as [string, string, Event][]) {
    const { counters, observe, counted } = createCounting()
    observe(event)
    observe(event)
    t.strictSame(counted(metric), { [label]: [2] }, event.type)
    t.equal(counters.take().length, 2, `${event.type}: nothing else`)
  }
  const { counters, observe } = createCounting()
  observe({ type: 'restarting' })
  t.strictSame(counters.take(), [], 'other events are ignored')
})

t.test('Counting: some events have a count', async (t) => {
  const { observe, counted } = createCounting()
  observe({ type: 'tokens purged', count: 500 })
  observe({ type: 'log lines dropped', count: 7 })
  t.strictSame(counted('purged_tokens_total'), { '': [500] })
  t.strictSame(counted('log_lines_dropped_total'), { '': [7] })
})

t.test("Counting: the store's batches, disk and round trips have their histograms", async (t) => {
  const { observe, counted } = createCounting()
  observe({ type: 'batch written', size: 3, seconds: 0.0002 })
  observe({ type: 'disk synced', seconds: 3 })
  observe({ type: 'round trip', kind: 'write', seconds: 0.0005 })
  t.strictSame(counted('write_batch_size', 12), { '': [0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 3] })
  t.strictSame(counted('commit_duration_seconds', 14), { '': [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0002] })
  t.strictSame(counted('disk_sync_duration_seconds', 14), { '': [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3] })
  const write = [0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0005]
  t.strictSame(counted('database_round_trip_duration_seconds', 14), { write })
})

t.test('Counters: one process merges what another has counted, which begins again at 0', async (t) => {
  const worker = createCounting()
  const leader = createCounting()
  for (const { observe } of [worker, leader]) observe({ type: 'tokens purged', count: 5 })
  leader.counters.merge(JSON.parse(JSON.stringify(worker.counters.take())))
  t.strictSame(leader.counted('purged_tokens_total'), { '': [10] })
  t.strictSame(worker.counters.take(), [])
  worker.observe({ type: 'disk synced', seconds: 0.5 })
  leader.counters.merge(worker.counters.take())
  t.strictSame(leader.counted('purged_tokens_total'), { '': [10] })
  t.equal(leader.counted('disk_sync_duration_seconds', 14)['']?.[13], 0.5)
})
