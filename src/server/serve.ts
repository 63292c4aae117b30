import { executionAsyncResource } from 'node:async_hooks'
import cluster from 'node:cluster'
import { type Config, certificateFiles } from '../config.ts'
import { isInMemory } from '../domain/database-location.ts'
import type { Observer } from '../domain/events.ts'
import { openPrevious, openStore } from '../store/open.ts'
import type { Opened, OpenOptions } from '../store/opened.ts'
import { withPrevious } from '../store/previous.ts'
import type { AdminConfig } from './admin.ts'
import { createControlPlane } from './control-plane.ts'
import { type LeaderOptions, runLeader } from './leader.ts'
import { type ListenConfig, listenAndServe } from './listen.ts'
import { startReporting } from './reporting.ts'
import { closeOnSignal } from './signals.ts'
import { createTelemetry, type Telemetry } from './telemetry.ts'
import { runWorker } from './worker.ts'

/** How long a request waits for another process that has locked the store; then it gets a 503. */
const LOCK_TIMEOUT_MS = 2000

/** Runs the server, or one of its workers. If there are several WORKERS, this process is their leader. Throws OperatorError. */
export async function serve(
  config: Config,
  { isTTY, settingsNow, create }: Pick<LeaderOptions, 'settingsNow'> & { isTTY: boolean; create: boolean },
): Promise<void> {
  keepTicksFast()
  const { LOG_LEVEL, FAILURE_LIMIT: limitRefusals, WORKERS: workers } = config
  const counts = [config.OPS_ADDRESS, config.ADMIN_ADDRESS, config.NOTICE_URL_FILE].some((one) => one !== undefined)
  const telemetry = createTelemetry(LOG_LEVEL, { isTTY, shared: workers > 1, limitRefusals, counts })
  const isFirst = !cluster.isWorker
  const { observe } = telemetry
  const options = { lockTimeout: LOCK_TIMEOUT_MS, recover: isFirst, create: create && isFirst, observe }
  const open = () => openStores(config, options, isFirst ? observe : () => {})

  if (cluster.isWorker) return runWorker(open, telemetry, config)
  if (workers === 1) await run(open, telemetry, config)
  else await runLeader(open, telemetry, { settingsNow, config })
  void telemetry.flush()
}

/** Serves a store in this process until a signal. Resolves to its addresses when it listens. Throws OperatorError. */
export async function run(
  open: () => Promise<Opened>,
  telemetry: Telemetry,
  config: ListenConfig & AdminConfig,
): Promise<{ address: string; admin: string | undefined }> {
  let isServing = false
  const control = createControlPlane(open, telemetry, config, { expected: 1, serving: () => (isServing ? 1 : 0) })
  // Before anything else, so that a signal during the start is handled after it.
  const reloads = Object.values(certificateFiles(config)).some(Boolean)
  const { release } = closeOnSignal(telemetry, (signal) => control.stop(signal, endAnswering, started), {
    signals: ['SIGINT', 'SIGTERM', ...(reloads ? [] : (['SIGHUP'] as const))],
  })
  const started = start()
  // A start that fails is reported below.
  const ignore = () => {}
  if (reloads) process.on('SIGHUP', () => void started.then(({ certificates }) => certificates.reload(), ignore))
  const { addresses } = await started.catch(async (error) => {
    release()
    await control.abandon()
    throw error
  })
  return addresses

  async function endAnswering(): Promise<void> {
    const { app } = await started
    isServing = false
    await app.close()
  }

  async function start() {
    const { store, certificates } = await control.open()
    const { app, address, load } = await listenAndServe(store, telemetry, config, certificates.tlsOf('public'))
    const { counters } = telemetry
    const member = control.fleet?.join()
    if (counters && member) startReporting(counters, load, member.take)
    isServing = true
    return { app, certificates, addresses: control.begin(address) }
  }
}

/** Opens the store, and the previous one if that is set. `observe` receives the events that only one process reports. */
export async function openStores(
  { DATABASE_URL, PREVIOUS_DATABASE_URL }: Pick<Config, 'DATABASE_URL' | 'PREVIOUS_DATABASE_URL'>,
  options: OpenOptions,
  observe: Observer,
): Promise<Opened> {
  const previous = PREVIOUS_DATABASE_URL && (await openPrevious(PREVIOUS_DATABASE_URL, options))
  const store = await openStore(DATABASE_URL, options)
  const { movedTo, migrated, database, riskySettings: settings = [] } = store
  if (migrated.from === 0 && !isInMemory(DATABASE_URL)) observe({ type: 'database created', database })
  if (settings.length > 0) observe({ type: 'database may lose data', settings })
  if (movedTo !== undefined) observe({ type: 'database has moved', movedTo })
  return previous ? withPrevious(store, previous, { now: Date.now, observe }) : store
}

const kept = new Set<object>()

/**
 * Keeps process.nextTick fast, which Node.js calls several times per request. When V8 collects garbage while no tick is pending,
 * it drops the hidden class of tick objects, and creates all later ones on a slow path (docs/performance). One object that is
 * kept alive keeps the class.
 */
function keepTicksFast(): void {
  process.nextTick(() => kept.add(executionAsyncResource()))
}
