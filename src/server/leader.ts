import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import type { Opened } from '../store/opened.ts'
import type { Fleet, Member } from '../telemetry/metrics/fleet.ts'
import { type ControlConfig, createControlPlane } from './control-plane.ts'
import { createHeartbeat, onWorkerMessage, tellWorker } from './messages.ts'
import { CLOSE_TIMEOUT_MS, closeOnSignal } from './signals.ts'
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
  /** The names of the settings whose new values the running server does not have, and what is wrong with them. */
  settingsNow: () => { changed: string[]; problems: string[] }
  config: ControlConfig & Pick<Config, 'WORKERS'>
  patience?: Patience
}

/**
 * Lets WORKERS processes answer on one port and one store, and does what is to be done once: migrating, purging, reporting
 * when all are ready, ending. A worker that exits unexpectedly, or no longer answers, is replaced. On SIGHUP every worker is
 * replaced, one after the other, and no request is dropped; where a new one does not start the old ones go on. Resolves when
 * all workers listen; throws OperatorError where they do not.
 */
export async function runLeader(
  open: () => Promise<Opened>,
  telemetry: Telemetry,
  { settingsNow, config, patience = PATIENCE }: LeaderOptions,
): Promise<void> {
  const { WORKERS: expected } = config
  const control = createControlPlane(open, telemetry, config, { expected, serving: () => crew.serving.size })
  const crew = createCrew(telemetry, { patience, fleet: control.fleet })
  // Before anything begins: a signal that comes during the start is handled when it is over, or ends it.
  const { release } = closeOnSignal(telemetry, ({ signal }) => control.stop(signal, crew.end), {
    signals: ['SIGINT', 'SIGTERM'],
    timeout: patience.close,
    abandon: crew.kill,
  })
  const started = begin()
  process.on('SIGHUP', oneAtATime(started, restart))
  return started.catch(async (error) => {
    // An operator who stops a server that is starting knows that it did not start.
    if (crew.isEnding()) return new Promise<never>(() => {})
    release()
    crew.kill()
    await control.abandon()
    throw error
  })

  async function begin(): Promise<void> {
    await control.open()
    // One first: an error that would stop them all is then reported once.
    const address = await crew.start()
    await Promise.all(Array.from({ length: expected - 1 }, () => crew.start()))
    control.begin(address, expected)
  }

  async function restart(): Promise<void> {
    crew.report({ type: 'restarting' })
    const { changed, problems } = settingsNow()
    if (changed.length > 0) crew.report({ type: 'settings not applied', settings: changed })
    if (problems.length > 0) crew.report({ type: 'settings wrong', problems })
    try {
      for (const worker of [...crew.serving]) {
        if (crew.serving.has(worker) && !crew.isEnding()) {
          await supersede(worker, crew)
          telemetry.measure?.({ type: 'worker replaced', reason: 'rolling restart' })
        }
      }
      crew.report({ type: 'restarted' })
    } catch (err) {
      crew.report({ type: 'rolling restart failed', err })
    }
  }
}

/** What the leader knows of a worker that serves or has served. */
interface Life {
  member: Member | undefined
  isSilent?: boolean
  /** If it is being replaced in order: whether its successor listens, sooner or later. */
  successor?: Promise<boolean>
}

type Crew = ReturnType<typeof createCrew>

/** The workers: starts them, and replaces each that is lost. */
function createCrew(
  { observe, measure }: Pick<Telemetry, 'observe' | 'measure'>,
  { patience, fleet }: { patience: Patience; fleet: Fleet | undefined },
) {
  const serving = new Set<Worker>()
  const lives = new WeakMap<Worker, Life>()
  let isEnding = false

  /** Reports nothing while all workers are ended: what becomes of each then is expected. */
  const report: Observer = (event) => void (isEnding || observe(event))
  const heartbeat = createHeartbeat(patience, (worker) => {
    observe({ type: 'worker silent', worker: worker.process.pid })
    Object.assign(lives.get(worker) as Life, { isSilent: true })
    worker.process.kill('SIGKILL')
  })

  /**
   * Starts one more worker, which takes the place of its predecessor if it has one. Resolves to its address when it listens;
   * throws OperatorError if it does not.
   */
  async function start(predecessor?: Worker): Promise<string> {
    const { worker, address } = await startWorker(report, {
      timeout: patience.start,
      isAnotherListening: () => [...serving].some((other) => other.isConnected()),
      onExit(worker, exit) {
        const life = lives.get(worker)
        life?.member?.leave()
        if (!serving.delete(worker)) return
        void replace(life?.isSilent ? 'silent' : 'exited', { worker: worker.process.pid, ...exit }, life?.successor)
      },
    })
    if (predecessor) lives.get(predecessor)?.member?.retire()
    const member = fleet?.join()
    onWorkerMessage(worker, { report: ({ report }) => member?.take(report) })
    serving.add(worker)
    lives.set(worker, { member })
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
    if ((await successor) || isEnding) return
    await start().then(
      () => measure?.({ type: 'worker replaced', reason }),
      (err) => replace(reason, { err }),
    )
  }

  /** Ends all workers: in order those that serve, or served; at once those that are still starting, or take too long. */
  async function end(): Promise<void> {
    isEnding = true
    serving.clear()
    heartbeat.stop()
    await Promise.all(liveWorkers().map((worker) => endWorker(worker, lives.has(worker), patience.close)))
  }

  function kill(): void {
    isEnding = true
    for (const worker of liveWorkers()) worker.process.kill('SIGKILL')
  }

  return { serving, lives, isEnding: () => isEnding, report, start, end, kill }
}

/** Replaces a worker in order. Throws OperatorError if its successor does not listen. */
async function supersede(worker: Worker, { serving, lives, start }: Crew): Promise<void> {
  const successor = start(worker)
  const isListening = successor.then(
    () => true,
    () => false,
  )
  Object.assign(lives.get(worker) as Life, { successor: isListening })
  await successor
  if (serving.delete(worker)) tellWorker(worker, { type: 'retire' })
}

async function endWorker(worker: Worker, isKnown: boolean, timeout: number): Promise<void> {
  const kill = () => worker.process.kill('SIGKILL')
  if (isKnown) tellWorker(worker, { type: 'close' })
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
 * Returns a function that asks for a job. It is done when `ready`, and never twice at a time: all who ask while one is under
 * way, or before, get one more. Where `ready` fails it is not done.
 */
export function oneAtATime(ready: Promise<unknown>, job: () => Promise<void>): () => void {
  let isAskedFor = false
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    while (isAskedFor) {
      isAskedFor = false
      await job()
    }
    isRunning = false
  }

  return () => {
    if (!isAskedFor && !isRunning) ready.then(run, () => {})
    isAskedFor = true
  }
}
