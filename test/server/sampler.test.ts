import { mock } from 'node:test'
import t from 'tap'
import { startSampling } from '../../src/server/reporting.ts'
import type { Sample } from '../../src/telemetry/metrics/fleet.ts'

const LOAD = { requestsInFlight: 1, connections: 2, scryptRunning: 3, scryptWaiting: 4 }

t.test('Sampler: each sample has the CPU time and the delay since the one before, until it is stopped', async (t) => {
  mock.timers.enable({ apis: ['setInterval'] })
  t.teardown(() => mock.timers.reset())
  const samples: Sample[] = []
  const { stop } = startSampling(
    () => LOAD,
    (sample) => samples.push(sample),
  )
  mock.timers.tick(999)
  t.equal(samples.length, 0)
  mock.timers.tick(1)
  const end = performance.now() + 300
  while (performance.now() < end);
  mock.timers.tick(1000)
  const [first, late] = samples as [Sample, Sample]
  const last = stop()
  mock.timers.tick(60_000)
  t.equal(samples.length, 2)

  t.match(late, LOAD)
  t.ok(late.lagSeconds >= 0.2, String(late.lagSeconds))
  t.ok(late.cpuSeconds > 0.01 && late.cpuSeconds < 60, String(late.cpuSeconds))
  t.ok(late.residentBytes > 10_000_000)
  t.match(last, LOAD)
  for (const other of [first, last]) t.ok(other.lagSeconds < late.lagSeconds)
  t.ok(last.cpuSeconds < late.cpuSeconds, 'nothing was measured since')
})
