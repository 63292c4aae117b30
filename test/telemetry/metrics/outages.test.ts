import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { createEventCounter } from '../../../src/telemetry/metrics/count-events.ts'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'
import { countFailures, joinOutages } from '../../../src/telemetry/metrics/outages.ts'

t.test('Outages: one lasts from the first failed request to the last; the last ten are kept', async (t) => {
  const failed = (failures: number, at: number) => ({ beganAt: at, endedAt: at, failures })
  const joined = joinOutages([failed(2, 0), failed(3, 1000), failed(1, 60_999), failed(1, 120_999)])
  t.strictSame(joined, [{ beganAt: 0, endedAt: 60_999, failures: 6 }, failed(1, 120_999)])
  const more = Array.from({ length: 9 }, (_, n) => failed(1, (n + 1) * 1e6))
  t.strictSame(joinOutages([...joined, ...more]), [failed(1, 120_999), ...more])
})

t.test('Outages: only requests that failed because of the store count, each once', async (t) => {
  const counters = createCounters()
  const count = createEventCounter(counters)
  const newFailures = countFailures(counters)
  for (const reason of ['unexpected error', 'store unavailable', 'store unavailable'])
    count({ type: 'request failed', reason } as Event)
  t.strictSame([newFailures(), newFailures()], [2, 0])
})
