import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { createEventCounter } from '../../../src/telemetry/metrics/count-events.ts'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'
import { countFailures, createOutages } from '../../../src/telemetry/metrics/outages.ts'

t.test('Outages: one lasts from the first failed request to the last; the last ten are kept', async (t) => {
  const { add, list } = createOutages()
  for (const [failures, endedAt] of [
    [2, 0],
    [3, 1000],
    [0, 50_000],
    [1, 60_999],
    [1, 120_999],
  ] as const) {
    add(failures, endedAt)
  }
  t.strictSame(list(), [
    { beganAt: 0, endedAt: 60_999, failures: 6 },
    { beganAt: 120_999, endedAt: 120_999, failures: 1 },
  ])
  for (let n = 1; n < 10; n++) add(1, n * 1e6)
  t.strictSame([list().length, list()[0]], [10, { beganAt: 120_999, endedAt: 120_999, failures: 1 }])
})

t.test('Outages: only requests that failed because of the store count, each once', async (t) => {
  const counters = createCounters()
  const count = createEventCounter(counters)
  const newFailures = countFailures(counters)
  for (const reason of ['unexpected error', 'store unavailable', 'store unavailable'])
    count({ type: 'request failed', reason } as Event)
  t.strictSame([newFailures(), newFailures()], [2, 0])
})
