import t from 'tap'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'
import { createFleet, type Sample } from '../../../src/telemetry/metrics/fleet.ts'

const IDLE = { requestsInFlight: 0, scryptRunning: 0, scryptWaiting: 0, lagSeconds: 0 }

/** A worker's report: what it has counted, and its state. */
const report = (count: number, { connections = 0, cpuSeconds = 0, residentBytes = 0 }: Partial<Sample>) => ({
  counted: count === 0 ? [] : [0, count],
  sample: { ...IDLE, connections, cpuSeconds, residentBytes },
})

/** A fleet, and what is known of it: the count, the connections, and by slot the CPU times and the memory. */
function createWorld(slots: number) {
  const counters = createCounters()
  const { join, sum, samples, cpuSeconds } = createFleet(counters, slots)
  const memory = () => Object.fromEntries(samples().map(([slot, { residentBytes }]) => [slot, residentBytes]))
  const known = () => [counters.valueAt(0), sum('connections'), cpuSeconds, memory()]
  return { join, known }
}

t.test('Fleet: what workers have counted stays when they leave, and their samples go', async (t) => {
  const { join, known } = createWorld(2)
  const [first, second] = [join(), join()]
  t.strictSame(known(), [0, 0, [0, 0], {}], 'they have not reported yet')
  first.take(report(5, { connections: 3, cpuSeconds: 1, residentBytes: 10 }))
  second.take(report(1, { connections: 4, cpuSeconds: 2, residentBytes: 20 }))
  first.take(report(1, { connections: 2, cpuSeconds: 1, residentBytes: 11 }))
  t.strictSame(known(), [7, 6, [2, 2], { 0: 11, 1: 20 }])
  first.leave()
  t.strictSame(known(), [7, 4, [2, 2], { 1: 20 }])
  first.take(report(1, { connections: 9, cpuSeconds: 1 }))
  t.strictSame(known(), [8, 4, [3, 2], { 1: 20 }], 'its last report counts')
  join().take(report(0, { cpuSeconds: 4, residentBytes: 30 }))
  t.strictSame(known(), [8, 4, [7, 2], { 0: 30, 1: 20 }], 'the next one has its slot')
})

t.test('Fleet: a process without a slot is only part of the sums', async (t) => {
  const { join, known } = createWorld(1)
  const [first, second] = [join(), join()]
  first.take(report(1, { connections: 1, cpuSeconds: 1, residentBytes: 10 }))
  second.take(report(1, { connections: 1, cpuSeconds: 1, residentBytes: 20 }))
  t.strictSame(known(), [2, 2, [1], { 0: 10 }])
})

t.test('Fleet: a process that retires still reports, and its successor has its slot', async (t) => {
  const { join, known } = createWorld(1)
  const old = join()
  old.take(report(0, { connections: 3, residentBytes: 10 }))
  old.retire()
  const successor = join()
  successor.take(report(0, { connections: 1, residentBytes: 20 }))
  old.take(report(1, { connections: 2, cpuSeconds: 1, residentBytes: 10 }))
  t.strictSame(known(), [1, 3, [1], { 0: 20 }])
  old.leave()
  old.retire()
  t.strictSame(known(), [1, 1, [1], { 0: 20 }])
  successor.take(report(0, { residentBytes: 21 }))
  t.strictSame(known(), [1, 0, [1], { 0: 21 }])
})
