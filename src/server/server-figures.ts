import type { Clock } from '../domain/time.ts'
import { createFleet } from '../telemetry/metrics/fleet.ts'
import type { Numbers } from '../telemetry/metrics/numbers.ts'
import { createStoreFigures } from './store-figures.ts'

/** The processes that answer requests. */
export interface Workers {
  expected: number
  serving: () => number
}

export type ServerFigures = ReturnType<typeof createServerFigures>

/** The figures of a server: the counters and samples of its processes, and the figures of its store. */
export function createServerFigures(
  numbers: Numbers,
  workers: Workers,
  { now = Date.now, monotonic = () => performance.now() }: { now?: Clock; monotonic?: Clock } = {},
) {
  const fleet = createFleet(numbers, workers.expected)
  return { numbers, workers, fleet, ofStore: createStoreFigures({ now, monotonic }), now, monotonic }
}
