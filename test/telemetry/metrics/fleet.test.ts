import t from 'tap'
import { createCounters } from '../../../src/telemetry/metrics/counters.ts'
import { createFleet, type Sample } from '../../../src/telemetry/metrics/fleet.ts'

const IDLE = { requestsInFlight: 0, scryptRunning: 0, scryptWaiting: 0, lagSeconds: 0 }

/** A worker's report: what it has counted, and its state. */
const report = (count: number, { connections = 0, cpuSeconds = 0, residentBytes = 0 }: Partial<Sample>) => ({
  counted: count === 0 ? [] : [0, count],
  sample: { ...IDLE, connections, cpuSeconds, residentBytes },
})

const memory = (fleet: ReturnType<typeof createFleet>) =>
  fleet.samples().map(([slot, { residentBytes }]) => [slot, residentBytes])

t.test('Fleet: what workers have counted stays when they leave, and their samples go', async (t) => {
  const counters = createCounters()
  const fleet = createFleet(counters, 2)
  const [first, second] = [fleet.join(), fleet.join()]
  t.equal(fleet.sum('connections'), 0, 'they have not reported yet')
  t.strictSame(fleet.samples(), [])
  first.take(report(5, { connections: 3, cpuSeconds: 1, residentBytes: 10 }))
  second.take(report(1, { connections: 4, cpuSeconds: 2, residentBytes: 20 }))
  first.take(report(1, { connections: 2, cpuSeconds: 1, residentBytes: 11 }))
  t.equal(counters.valueAt(0), 7)
  t.equal(fleet.sum('connections'), 6)
  t.strictSame(fleet.cpuSeconds, [2, 2])
  t.match(fleet.samples(), [
    [0, { residentBytes: 11 }],
    [1, { residentBytes: 20 }],
  ])

  first.leave()
  t.equal(counters.valueAt(0), 7)
  t.equal(fleet.sum('connections'), 4)
  t.strictSame(fleet.cpuSeconds, [2, 2])
  t.strictSame(memory(fleet), [[1, 20]])

  first.take(report(1, { connections: 9, cpuSeconds: 1 }))
  t.equal(counters.valueAt(0), 8, 'its last report counts')
  t.equal(fleet.sum('connections'), 4)
  t.strictSame(fleet.cpuSeconds, [3, 2])

  const third = fleet.join()
  third.take(report(0, { cpuSeconds: 4, residentBytes: 30 }))
  t.strictSame(fleet.cpuSeconds, [7, 2], 'the next one has its slot')
})

t.test('Fleet: a process without a slot is only part of the sums', async (t) => {
  const counters = createCounters()
  const fleet = createFleet(counters, 1)
  const first = fleet.join()
  const second = fleet.join()
  first.take(report(1, { connections: 1, cpuSeconds: 1, residentBytes: 10 }))
  second.take(report(1, { connections: 1, cpuSeconds: 1, residentBytes: 20 }))
  t.equal(counters.valueAt(0), 2)
  t.equal(fleet.sum('connections'), 2)
  t.strictSame(memory(fleet), [[0, 10]])
  t.strictSame(fleet.cpuSeconds, [1])
})

t.test('Fleet: a process that retires still reports, and its successor has its slot', async (t) => {
  const counters = createCounters()
  const fleet = createFleet(counters, 1)
  const old = fleet.join()
  old.take(report(0, { connections: 3, residentBytes: 10 }))
  old.retire()
  const successor = fleet.join()
  successor.take(report(0, { connections: 1, residentBytes: 20 }))
  old.take(report(1, { connections: 2, cpuSeconds: 1, residentBytes: 10 }))
  t.equal(counters.valueAt(0), 1)
  t.equal(fleet.sum('connections'), 3)
  t.strictSame(memory(fleet), [[0, 20]])
  t.strictSame(fleet.cpuSeconds, [1])
  old.leave()
  old.retire()
  t.equal(fleet.sum('connections'), 1)
  successor.take(report(0, { residentBytes: 21 }))
  t.strictSame(memory(fleet), [[0, 21]])
})
