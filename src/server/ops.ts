import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { type Listener, listenForOperators, type Page, type Pages } from '../ops/listener.ts'
import { referencePages } from '../ops/reference.ts'
import type { Measured } from '../telemetry/metrics/exposition.ts'
import type { Fleet } from '../telemetry/metrics/fleet.ts'
import { NODE_VERSION, VERSION } from '../version.ts'
import type { ServerFigures } from './figures.ts'

export type OpsConfig = Pick<Config, 'OPS_ADDRESS' | 'DATABASE_URL'>

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * The ops listener, where OPS_ADDRESS says: metrics, health as the operator sees it, and the reference of the endpoints.
 * Whatever hangs, it answers within a second or two. Undefined if it is off, or nothing is counted. Throws OperatorError if it
 * cannot listen.
 */
export async function startOps(
  { OPS_ADDRESS: place, DATABASE_URL }: OpsConfig,
  { figures, observe }: { figures: ServerFigures | undefined; observe: Observer },
): Promise<Listener | undefined> {
  if (!place || !figures) return undefined
  const { numbers, fleet, ofStore } = figures
  const { expected, serving } = figures.workers
  const built: Measured = { build_info: [[[VERSION, NODE_VERSION, DATABASE_URL.kind], 1]] }
  // It takes a while to load, and only here it is needed.
  const { createExposition } = await import('../telemetry/metrics/exposition.ts')
  const exposition = createExposition(numbers, async () => {
    const measured = await ofStore.measure()
    const workers: Measured = { workers: [[[], serving()]], workers_expected: [[[], expected]] }
    return { ...measured, ...ofFleet(fleet), ...workers, ...built }
  })

  const pages: Pages = {
    '/metrics': async () => ({ type: exposition.type, body: await exposition.text() }),
    '/health/live': () => health(true),
    '/health/ready': async () => health(serving() > 0 && (await ofStore.isUp())),
    ...referencePages(),
  }
  return listenForOperators(place, pages, observe)
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
