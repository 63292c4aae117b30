import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startSampling } from '../../src/server/reporting.ts'
import type { Sample } from '../../src/telemetry/metrics/fleet.ts'
import { until } from '../support/until.ts'

const LOAD = { requestsInFlight: 1, connections: 2, scryptRunning: 3, scryptWaiting: 4 }

t.test('Sampler: each sample has the CPU time and the delay since the one before, until it is stopped', async (t) => {
  const samples: Sample[] = []
  let last: Sample | undefined
  const { stop } = startSampling(
    () => LOAD,
    (sample) => {
      samples.push(sample)
      if (samples.length === 2) last = stop()
    },
  )
  await until(() => samples.length === 1)
  const end = performance.now() + 300
  while (performance.now() < end);
  await until(() => samples.length === 2)
  const late = samples[1] as Sample
  t.match(late, LOAD)
  t.ok(late.lagSeconds >= 0.2, String(late.lagSeconds))
  t.ok(late.cpuSeconds > 0.01 && late.cpuSeconds < 60, String(late.cpuSeconds))
  t.ok(late.residentBytes > 10_000_000)
  t.match(last, { ...LOAD, lagSeconds: 0 }, 'nothing was measured since')
  t.ok((last as Sample).cpuSeconds < late.cpuSeconds)
  await sleep(1500)
  t.equal(samples.length, 2)
})
