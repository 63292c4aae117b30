import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import type { Opened } from '../store/opened.ts'
import type { Fleet, Member } from '../telemetry/metrics/fleet.ts'
import type { Certificates } from './certificates.ts'
import { createControlPlane } from './control-plane.ts'
import { onMessage, sendToWorker, type ToLeader, type ToWorker } from './messages.ts'
import { CLOSE_TIMEOUT_MS, closeOnSignal } from './signals.ts'
import { type Exit, startWorker } from './start-worker.ts'
import type { Telemetry } from './telemetry.ts'

/** Workers that do not close are killed this long before the leader's own time is up. Milliseconds. */
const LEADER_ALONE_MS = 500

/** In milliseconds, except for the number of pings. */
const TIMEOUTS = {
  /** From the fork of a worker until it listens. */
  start: 30_000,
  pingInterval: 5000,
  /** A worker is killed after this many pings without an answer. */
  unansweredPings: 6,
  /** From the unexpected exit of a worker to the start of its successor. */
  respawn: 1000,
  /** From the signal to stop to the end of the leader. */
  close: CLOSE_TIMEOUT_MS,
}

export type LeaderTimeouts = typeof TIMEOUTS

export interface LeaderOptions {
  /** The names of changed settings, which running workers do not get, and the problems of the new values. */
  settingsNow: () => { changed: string[]; problems: string[] }
  config: Config
  timeouts?: LeaderTimeouts
}

/**
 * Runs WORKERS processes that share one port and one store, and does what only one process may do: it migrates, purges and
 * answers operators. It replaces workers that exit unexpectedly or stop answering. On SIGHUP it replaces all workers, one after
 * the other, without dropping a request; if a new worker does not start, the old ones stay. Resolves when all workers listen;
 * throws OperatorError if they do not.
 */
export async function runLeader(
  open: () => Promise<Opened>,
  telemetry: Telemetry,
  { settingsNow, config, timeouts = TIMEOUTS }: LeaderOptions,
): Promise<void> {
  const { WORKERS: expected } = config
  const control = createControlPlane(open, telemetry, config, { expected, serving: () => pool.serving.size })
  let reload: (() => Promise<unknown>) | undefined
  const pool = createWorkerPool(telemetry, { timeouts, fleet: control.fleet })
  // Before anything else, so that a signal during the start ends it, or is handled after it.
  const { release } = closeOnSignal(telemetry, (signal) => control.stop(signal, pool.end), {
    signals: ['SIGINT', 'SIGTERM'],
    timeout: timeouts.close,
    abandon: pool.kill,
  })
  const started = begin()
  process.on('SIGHUP', oneAtATime(started, restart))
  return started.catch(async (error) => {
    // An operator who stops a server while it starts needs no error message about the start.
    if (pool.isEnding()) return new Promise<never>(() => {})
    release()
    pool.kill()
    await control.abandon()
    throw error
  })

  async function begin(): Promise<void> {
    const { certificates } = await control.open()
    reload = certificates.reload
    sendCertificates(certificates)
    // One worker first, so that an error that all of them would have is reported only once.
    const address = await pool.start()
    await Promise.all(Array.from({ length: expected - 1 }, () => pool.start()))
    control.begin(address, expected)
  }

  async function restart(): Promise<void> {
    pool.report({ type: 'restarting' })
    try {
      await reload?.()
      const { changed, problems } = settingsNow()
      if (changed.length > 0) pool.report({ type: 'settings not applied', settings: changed })
      if (problems.length > 0) pool.report({ type: 'settings wrong', problems })
      for (const worker of [...pool.serving]) {
        if (pool.serving.has(worker) && !pool.isEnding()) {
          await supersede(worker, pool)
          telemetry.measure?.({ type: 'worker replaced', reason: 'rolling restart' })
        }
      }
      pool.report({ type: 'restarted' })
    } catch (err) {
      pool.report({ type: 'rolling restart failed', err })
    }
  }
}

/** Sends what clients of the public listener are shown to each worker that asks, and to all when it changes. */
function sendCertificates({ public: kept }: Certificates): void {
  if (!kept) return
  let latest: ToWorker
  kept.follow(({ files, ticketKeys }) => {
    latest = { type: 'certificate', files, ticketKeys: ticketKeys.toString('base64') }
    for (const worker of liveWorkers()) sendToWorker(worker, latest)
  })
  cluster.on('fork', (worker) => {
    onMessage<ToLeader>(worker, { 'certificate?': () => sendToWorker(worker, latest) })
  })
}

interface WorkerState {
  member: Member | undefined
  unansweredPings: number
  isSilent: boolean
  /** In a rolling restart: whether its successor listens. */
  successor?: Promise<boolean>
}

function createWorkerPool(
  { observe, measure }: Pick<Telemetry, 'observe' | 'measure'>,
  { timeouts, fleet }: { timeouts: LeaderTimeouts; fleet: Fleet | undefined },
) {
  const serving = new Set<Worker>()
  const states = new Map<Worker, WorkerState>()
  let isEnding = false
  const ping = () => pingWorkers(states, timeouts.unansweredPings, observe)
  const pings = setInterval(ping, timeouts.pingInterval).unref()

  /** Reports nothing while all workers are being ended: their exits are expected then. */
  const report: Observer = (event) => void (isEnding || observe(event))

  /** Starts a worker, which may replace another. Resolves to its address when it listens; throws OperatorError. */
  async function start(predecessor?: WorkerState): Promise<string> {
    const { worker, address } = await startWorker(report, {
      timeout: timeouts.start,
      isAnotherListening: () => [...serving].some((other) => other.isConnected()),
      onExit(worker, exit) {
        const state = states.get(worker)
        states.delete(worker)
        state?.member?.leave()
        if (!serving.delete(worker)) return
        void replace(state?.isSilent ? 'silent' : 'exited', { worker: worker.process.pid, ...exit }, state?.successor)
      },
    })
    predecessor?.member?.retire()
    const member = fleet?.join()
    const state: WorkerState = { member, unansweredPings: 0, isSilent: false }
    onMessage<ToLeader>(worker, {
      report: ({ report }) => member?.take(report),
      pong: () => (state.unansweredPings = 0),
    })
    serving.add(worker)
    states.set(worker, state)
    return address
  }

  /** Starts another worker for one that exited, unless its successor in a rolling restart listens. */
  async function replace(
    reason: 'exited' | 'silent',
    exit: { worker: number | undefined } & Exit,
    successor?: Promise<boolean>,
  ): Promise<void> {
    report({ type: 'worker exited unexpectedly', ...exit })
    await sleep(timeouts.respawn)
    let isReplaced = await successor
    while (!isReplaced && !isEnding) {
      isReplaced = await tryToStart(start, report, timeouts.respawn)
      if (isReplaced) measure?.({ type: 'worker replaced', reason })
    }
  }

  /** Closes the workers that have listened, and kills those that are still starting. */
  async function end(): Promise<void> {
    isEnding = true
    serving.clear()
    clearInterval(pings)
    await Promise.all(liveWorkers().map((worker) => endWorker(worker, states.has(worker), timeouts.close)))
  }

  function kill(): void {
    isEnding = true
    for (const worker of liveWorkers()) worker.process.kill('SIGKILL')
  }

  return { serving, states, isEnding: () => isEnding, report, start, end, kill }
}

/** Resolves to whether a worker was started. If not, that is reported, and followed by a pause in milliseconds. */
async function tryToStart(start: () => Promise<unknown>, report: Observer, pause: number): Promise<boolean> {
  try {
    await start()
    return true
  } catch (err) {
    report({ type: 'worker exited unexpectedly', err })
    await sleep(pause)
    return false
  }
}

/** Replaces a worker without dropping a request. Throws OperatorError if its successor does not listen. */
async function supersede(
  worker: Worker,
  { serving, states, start }: ReturnType<typeof createWorkerPool>,
): Promise<void> {
  const state = states.get(worker) as WorkerState
  const successor = start(state)
  state.successor = successor.then(
    () => true,
    () => false,
  )
  await successor
  if (serving.delete(worker)) sendToWorker(worker, { type: 'retire' })
}

/** Kills silent workers. It counts pings instead of time, so that no worker seems silent after the leader itself was stopped. */
function pingWorkers(states: Map<Worker, WorkerState>, limit: number, observe: Observer): void {
  for (const [worker, state] of states) {
    if (state.unansweredPings < limit) {
      state.unansweredPings++
      sendToWorker(worker, { type: 'ping' })
    } else if (!state.isSilent && !worker.isDead()) {
      state.isSilent = true
      observe({ type: 'worker silent', worker: worker.process.pid })
      worker.process.kill('SIGKILL')
    }
  }
}

async function endWorker(worker: Worker, hasListened: boolean, timeout: number): Promise<void> {
  const kill = () => worker.process.kill('SIGKILL')
  if (hasListened) sendToWorker(worker, { type: 'close' })
  else kill()
  const late = setTimeout(kill, timeout - LEADER_ALONE_MS)
  await new Promise((resolve) => worker.once('exit', resolve))
  clearTimeout(late)
}

function liveWorkers(): Worker[] {
  const workers = Object.values(cluster.workers as NodeJS.Dict<Worker>) as Worker[]
  return workers.filter((worker) => !worker.isDead())
}

/**
 * Returns a function that requests a job. Jobs run one at a time, once `ready` has resolved; all requests made before or during a
 * job cause one more job in total. If `ready` rejects, none runs.
 */
export function oneAtATime(ready: Promise<unknown>, job: () => Promise<void>): () => void {
  let isRequested = false
  let last: Promise<unknown> = ready.catch(() => new Promise(() => {}))
  return () => {
    if (isRequested) return
    isRequested = true
    last = last.then(() => {
      isRequested = false
      return job()
    })
  }
}
