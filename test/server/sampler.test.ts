import t from 'tap'
import { createSampler } from '../../src/server/sampler.ts'

t.test('Sampler: CPU time is that since the sample before, and being late is seen once', async (t) => {
  const sample = createSampler(() => ({ requestsInFlight: 1, connections: 2, scryptRunning: 3, scryptWaiting: 4 }))
  const turn = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  t.match(sample(), { requestsInFlight: 1, connections: 2, scryptRunning: 3, scryptWaiting: 4 })
  await turn(60)
  sample()
  const until = performance.now() + 300
  while (performance.now() < until);
  await turn(60)
  const late = sample()
  t.ok(late.lagSeconds >= 0.2, String(late.lagSeconds))
  t.ok(late.cpuSeconds > 0.01 && late.cpuSeconds < 60, String(late.cpuSeconds))
  t.ok(late.residentBytes > 10_000_000)
  const next = sample()
  t.ok(next.cpuSeconds < late.cpuSeconds)
  t.equal(next.lagSeconds, 0, 'nothing was measured since')
})
