import type { Config } from '../config.ts'
import type { Clock } from '../domain/clock.ts'
import { listenForOperators, type Page, type Pages } from '../ops/listener.ts'
import { referencePages } from '../ops/reference.ts'
import type { Measured } from '../telemetry/metrics/exposition.ts'
import { createFleet, type Fleet, type Member } from '../telemetry/metrics/fleet.ts'
import type { Numbers } from '../telemetry/metrics/numbers.ts'
import { NODE_VERSION, VERSION } from '../version.ts'
import { createStoreFigures, type StoreSource } from './store-figures.ts'

/** The processes that answer requests. */
export interface Workers {
  expected: number
  serving: () => number
}

export type OpsConfig = Pick<Config, 'OPS_ADDRESS' | 'DATABASE_URL'>

/** What the server shows of itself. */
export interface Ops {
  /** Where; undefined: nowhere. */
  address: string | undefined
  /** One more process answers requests. */
  join(): Member
  /** This store is asked for its figures from now on. */
  watch(store: StoreSource): void
  close(): Promise<void>
}

const NOWHERE: Ops = {
  address: undefined,
  join: () => ({ take() {}, retire() {}, leave() {} }),
  watch() {},
  close: async () => {},
}

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * The ops listener, where OPS_ADDRESS says: metrics, health as the operator sees it, and the reference of the endpoints.
 * Whatever hangs, it answers within a second or two. Throws OperatorError where it cannot listen.
 */
export async function startOps(
  { OPS_ADDRESS: place, DATABASE_URL }: OpsConfig,
  numbers: Numbers | undefined,
  { expected, serving }: Workers,
  { now = Date.now, monotonic = () => performance.now() }: { now?: Clock; monotonic?: Clock } = {},
): Promise<Ops> {
  if (!place || !numbers) return NOWHERE
  const fleet = createFleet(numbers, expected)
  const storeFigures = createStoreFigures({ now, monotonic })
  const built: Measured = { build_info: [[[VERSION, NODE_VERSION, DATABASE_URL.kind], 1]] }
  // It takes a while to load, and only here it is needed.
  const { createExposition } = await import('../telemetry/metrics/exposition.ts')
  const exposition = createExposition(numbers, async () => {
    const ofStore = await storeFigures.measure()
    const workers: Measured = { workers: [[[], serving()]], workers_expected: [[[], expected]] }
    return { ...ofStore, ...ofFleet(fleet), ...workers, ...built }
  })

  const pages: Pages = {
    '/metrics': async () => ({ type: exposition.type, body: await exposition.text() }),
    '/health/live': () => health(true),
    '/health/ready': async () => health(serving() > 0 && (await storeFigures.isUp())),
    ...referencePages(),
  }
  const { address, close } = await listenForOperators(place, pages)
  return { address, join: fleet.join, watch: storeFigures.open, close }
}

function ofFleet(fleet: Fleet): Measured {
  return {
    http_requests_in_flight: [[[], fleet.sum('requestsInFlight')]],
    connections: [[[], fleet.sum('connections')]],
    scrypt_running: [[[], fleet.sum('scryptRunning')]],
    scrypt_waiting: [[[], fleet.sum('scryptWaiting')]],
    worker_cpu_seconds_total: byWorker(fleet.cpuSeconds.entries()),
    worker_resident_memory_bytes: byWorker(fleet.each('residentBytes')),
    worker_event_loop_lag_seconds: byWorker(fleet.each('lagSeconds')),
  }
}

/** Workers are called by the numbers of their places, from 1 on. */
function byWorker(figures: Iterable<[place: number, value: number]>): [string[], number][] {
  return [...figures].map(([place, value]) => [[String(place + 1)], value])
}

function health(isGood: boolean): Page {
  return {
    status: isGood ? 200 : 503,
    type: JSON_TYPE,
    body: JSON.stringify({ status: isGood ? 'ok' : 'unavailable' }),
  }
}
