import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import { isCertified } from '../listener/tls.ts'
import { type Listener, listenForOperators, type Page, type Pages } from '../ops/listener.ts'
import { referencePages } from '../ops/reference.ts'
import type { MeasuredValues } from '../telemetry/metrics/exposition.ts'
import type { Fleet } from '../telemetry/metrics/fleet.ts'
import { NODE_VERSION, VERSION } from '../version.ts'
import type { StoreState } from '../views/statistics.ts'
import type { Certificates } from './certificates.ts'
import type { ServerFigures } from './figures.ts'
import { onDemand } from './on-demand.ts'

const JSON_TYPE = 'application/json; charset=utf-8'

/**
 * Starts the ops listener on OPS_ADDRESS: metrics, health, and the reference of the endpoints. It answers within two seconds even
 * if the store hangs. Undefined if it is off. Throws OperatorError if it cannot listen.
 */
export async function startOps(
  config: Config,
  {
    figures,
    observe,
    certificates,
    noticesWaitSince = () => undefined,
  }: {
    figures: ServerFigures | undefined
    observe: Observer
    certificates: Certificates
    noticesWaitSince?: () => number | undefined
  },
): Promise<Listener | undefined> {
  const { OPS_ADDRESS: place, OPS_CLIENT_CA_FILE, DATABASE_URL } = config
  if (!place || !figures) return undefined
  const { counters, fleet, storeFigures, now } = figures
  const { expected, serving } = figures.workers
  const measure = async (): Promise<MeasuredValues> => ({
    ...(await storeFigures.measure()),
    ...fleetValues(fleet),
    ...certificateValues(certificates),
    oldest_notice_seconds: [[[], Math.max(now() - (noticesWaitSince() ?? now()), 0) / 1000]],
    workers: [[[], serving()]],
    workers_expected: [[[], expected]],
    build_info: [[[VERSION, NODE_VERSION, DATABASE_URL.kind], 1]],
  })
  // Loaded for the first scrape, because it takes a while.
  const exposition = await onDemand(config, async () => {
    const { createExposition } = await import('../telemetry/metrics/exposition.ts')
    return createExposition(counters, measure)
  })
  const pages: Pages = {
    '/metrics': async (connection) => {
      if (OPS_CLIENT_CA_FILE !== undefined && !isCertified(connection)) return NOT_CERTIFIED
      const { type, text } = await exposition()
      return { type, body: await text() }
    },
    '/health/live': () => health(true),
    '/health/ready': async () => readiness(serving() > 0, await storeFigures.readState()),
    ...referencePages(),
  }
  return listenForOperators(place, pages, observe, certificates.tlsOf('ops'))
}

const NOT_CERTIFIED: Page = {
  status: 403,
  type: 'text/plain; charset=utf-8',
  body: 'The metrics are for clients with a certificate of an authority in OPS_CLIENT_CA_FILE.\n',
}

function certificateValues({ list }: Certificates): MeasuredValues {
  const all = list()
  return {
    certificate_expiry_seconds: all.map(({ listener, endsAt }) => [[listener], (endsAt - Date.now()) / 1000]),
    certificate_refused: all.map(({ listener, problem }) => [[listener], Number(problem !== undefined)]),
  }
}

function fleetValues(fleet: Fleet): MeasuredValues {
  const samples = fleet.samples()
  return {
    http_requests_in_flight: [[[], fleet.sum('requestsInFlight')]],
    connections: [[[], fleet.sum('connections')]],
    scrypt_running: [[[], fleet.sum('scryptRunning')]],
    scrypt_waiting: [[[], fleet.sum('scryptWaiting')]],
    worker_cpu_seconds_total: fleet.cpuSeconds.map((seconds, slot) => [[`${slot + 1}`], seconds]),
    worker_resident_memory_bytes: samples.map(([slot, { residentBytes }]) => [[`${slot + 1}`], residentBytes]),
    worker_event_loop_lag_seconds: samples.map(([slot, { lagSeconds }]) => [[`${slot + 1}`], lagSeconds]),
  }
}

/** `serves` is whether a process answers requests. If something does not work, the answer says what, and why. */
function readiness(
  serves: boolean,
  { isUp, canWrite, canCheck, problem = 'No process answers requests.' }: StoreState,
): Page {
  if (serves && isUp) return health(true)
  const changes = wordOf(canWrite)
  return health(false, {
    ...{ issuing: wordOf(serves && canWrite), checks: wordOf(serves && canCheck), changes, sign_in: changes },
    problem,
  })
}

function wordOf(works: boolean): string {
  return works ? 'ok' : 'unavailable'
}

function health(isGood: boolean, details: Record<string, string> = {}): Page {
  return { status: isGood ? 200 : 503, type: JSON_TYPE, body: JSON.stringify({ status: wordOf(isGood), ...details }) }
}
