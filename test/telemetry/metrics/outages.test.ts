import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { createEventCounter } from '../../../src/telemetry/metrics/count-events.ts'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'
import { countFailures, joinOutages, outageAt } from '../../../src/telemetry/metrics/history.ts'

t.test('Outages: one lasts from the first failed request to the last; the last ten are kept', async (t) => {
  const joined = joinOutages([outageAt(0, 2), outageAt(1000, 3), outageAt(60_999, 1), outageAt(120_999, 1)])
  t.strictSame(joined, [{ beganAt: 0, endedAt: 60_999, failures: 6 }, outageAt(120_999, 1)])
  const more = Array.from({ length: 9 }, (_, n) => outageAt((n + 1) * 1e6, 1))
  t.strictSame(joinOutages([...joined, ...more]), [outageAt(120_999, 1), ...more])
})

t.test('Outages: only requests that failed because of the store count, each once', async (t) => {
  const counters = createCounters()
  const count = createEventCounter(counters)
  const newFailures = countFailures(counters)
  for (const reason of ['unexpected error', 'store unavailable', 'store unavailable'])
    count({ type: 'request failed', reason } as Event)
  t.strictSame([newFailures(), newFailures()], [2, 0])
})
