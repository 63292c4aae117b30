import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Observer } from '../domain/events.ts'
import type { Opened } from '../store/opened.ts'
import type { Member } from '../telemetry/metrics/fleet.ts'
import { VERSION } from '../version.ts'
import { type Admin, type AdminConfig, startAdmin } from './admin.ts'
import { createHeartbeat, onWorkerMessage, tellWorker } from './messages.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { type Ops, type OpsConfig, startOps } from './ops.ts'
import { startPurgeLoop } from './purge-loop.ts'
import { createServerFigures } from './server-figures.ts'
import { CLOSE_TIMEOUT_MS, closeOnSignal, type OperatorSignal } from './signals.ts'
import { type Exit, startWorker } from './start-worker.ts'
import type { Telemetry } from './telemetry.ts'

/** What the leader still has to do when its last worker is gone. */
const LEADER_ALONE_MS = 500

/** How long a leader waits for its workers, in milliseconds. */
export interface Patience {
  /** From the fork until it listens. */
  start: number
  /** Between two questions whether it is alive, of which `questions` may stay without an answer. */
  interval: number
  questions: number
  /** Between the unexpected exit of a worker and the start of the next. */
  respawn: number
  /** From the signal to stop to the end of the leader, and so of all. */
  close: number
}

const PATIENCE: Patience = { start: 30_000, interval: 5000, questions: 6, respawn: 1000, close: CLOSE_TIMEOUT_MS }

export interface LeaderOptions {
  workers: number
  /** The names of the settings whose new values the running server does not have, and what is wrong with them. */
  settingsNow: () => { changed: string[]; problems: string[] }
  config: OpsConfig & AdminConfig
  patience?: Patience
}

/**
 * Lets `workers` processes answer on one port and one store, and does what is to be done once: migrating, purging, saying
 * when all are ready, ending. A worker that exits unexpectedly, or no longer answers, is replaced. On SIGHUP every worker is
 * replaced, one after the other, and no request is dropped; where a new one does not start the old ones go on. Resolves when
 * all workers listen; throws OperatorError where they do not.
 */
export async function runLeader(
  open: () => Promise<Opened>,
  telemetry: Telemetry,
  { workers, settingsNow, config, patience = PATIENCE }: LeaderOptions,
): Promise<void> {
  const { observe, measure, numbers } = telemetry
  const serving = new Set<Worker>()
  /** Those that serve or have served: they are ended in order. */
  const known = new WeakMap<Worker, Member | undefined>()
  /** Of those that are to be replaced in order: whether the next one listens, sooner or later. */
  const successors = new WeakMap<Worker, Promise<boolean>>()
  const silent = new WeakSet<Worker>()
  const figures = numbers && createServerFigures(numbers, { expected: workers, serving: () => serving.size })
  let isClosing = false
  let ops: Ops | undefined
  let store: Opened | undefined
  let admin: Admin | undefined
  let purgeLoop: ReturnType<typeof startPurgeLoop> | undefined

  /** What becomes of single workers while all of them are ended is no news. */
  const report: Observer = (event) => void (isClosing || observe(event))
  const heartbeat = createHeartbeat({
    interval: patience.interval,
    limit: patience.questions,
    onSilent(worker) {
      observe({ type: 'worker silent', worker: worker.process.pid })
      silent.add(worker)
      worker.process.kill('SIGKILL')
    },
  })
  // Before anything begins: a signal that comes during the start is served when it is over, or ends it.
  const { release } = closeOnSignal(telemetry, close, {
    signals: ['SIGINT', 'SIGTERM'],
    timeout: patience.close,
    abandon: killAll,
  })
  const started = begin()
  process.on('SIGHUP', oneAtATime(started, restart))
  return started.catch(async (error) => {
    // Whoever stops a server that is starting does not want to hear that it did not start.
    if (isClosing) return new Promise<never>(() => {})
    release()
    isClosing = true
    killAll()
    await admin?.close()
    await store?.close()
    await ops?.close()
    throw error
  })

  async function begin(): Promise<void> {
    ops = await startOps(config, { figures, observe })
    store = await open()
    figures?.ofStore.open(store)
    admin = await startAdmin(config, { store, observe, figures })
    // One first: an error that would stop them all is then reported once.
    const address = await start()
    await Promise.all(Array.from({ length: workers - 1 }, () => start()))
    purgeLoop = startPurgeLoop({ store, now: Date.now, monotonic: () => performance.now(), observe })
    const { database, previous } = store
    observe({
      type: 'ready',
      version: VERSION,
      address,
      ops: ops.address,
      admin: admin.address,
      database,
      previous,
      workers,
    })
  }

  /**
   * Starts one more worker, which takes the place of another one where there is one. Resolves to its address when it listens;
   * throws OperatorError where it does not.
   */
  async function start(predecessor?: Worker): Promise<string> {
    const { worker, address } = await startWorker(report, {
      timeout: patience.start,
      isAnotherListening: () => [...serving].some((other) => other.isConnected()),
      onExit: (worker, exit) => {
        known.get(worker)?.leave()
        const reason = silent.has(worker) ? 'silent' : 'exited'
        if (!serving.delete(worker)) return
        void replace(reason, { worker: worker.process.pid, ...exit }, successors.get(worker))
      },
    })
    if (predecessor) known.get(predecessor)?.retire()
    const member = figures?.fleet.join()
    onWorkerMessage(worker, { report: ({ report }) => member?.take(report) })
    serving.add(worker)
    known.set(worker, member)
    heartbeat.watch(worker)
    return address
  }

  /** Starts another worker for one that is gone, unless it gets a successor already. */
  async function replace(
    reason: 'exited' | 'silent',
    exit: { worker?: number | undefined } & Partial<Exit>,
    successor?: Promise<boolean>,
  ): Promise<void> {
    report({ type: 'worker exited unexpectedly', ...exit })
    await sleep(patience.respawn)
    if ((await successor) || isClosing) return
    await start().then(
      () => measure?.({ type: 'worker replaced', reason }),
      (err) => replace(reason, { err }),
    )
  }

  async function restart(): Promise<void> {
    report({ type: 'restarting' })
    const { changed, problems } = settingsNow()
    if (changed.length > 0) report({ type: 'settings not applied', settings: changed })
    if (problems.length > 0) report({ type: 'settings wrong', problems })
    try {
      for (const worker of [...serving]) if (serving.has(worker) && !isClosing) await supersede(worker)
      report({ type: 'restarted' })
    } catch (err) {
      report({ type: 'rolling restart failed', err })
    }
  }

  async function supersede(worker: Worker): Promise<void> {
    const successor = start(worker)
    successors.set(
      worker,
      successor.then(
        () => true,
        () => false,
      ),
    )
    await successor
    measure?.({ type: 'worker replaced', reason: 'rolling restart' })
    if (serving.delete(worker)) tellWorker(worker, { type: 'retire' })
  }

  async function close({ signal }: { signal?: OperatorSignal }): Promise<void> {
    isClosing = true
    serving.clear()
    observe({ type: 'stopping', signal })
    heartbeat.stop()
    await Promise.all([
      admin?.close(),
      ...allWorkers()
        .filter((worker) => !worker.isDead())
        .map(end),
    ])
    await purgeLoop?.stop()
    await Promise.all([store?.close(), ops?.close()])
    await telemetry.flush()
    observe({ type: 'stopped' })
  }

  /** Ends a worker: in order where it serves, or served; at once where it is still starting, or takes too long. */
  async function end(worker: Worker): Promise<void> {
    const kill = () => worker.process.kill('SIGKILL')
    if (known.has(worker)) tellWorker(worker, { type: 'close' })
    else kill()
    const late = setTimeout(kill, patience.close - LEADER_ALONE_MS)
    await new Promise((resolve) => worker.once('exit', resolve))
    clearTimeout(late)
  }
}

function allWorkers(): Worker[] {
  return Object.values(cluster.workers as NodeJS.Dict<Worker>) as Worker[]
}

function killAll(): void {
  for (const worker of allWorkers()) worker.process.kill('SIGKILL')
}
