import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../domain/operator-error.ts'
import type { Store } from '../domain/store.ts'
import { onWorkerMessage, tellWorker } from './messages.ts'
import { startPurgeLoop } from './purge-loop.ts'
import { closeOnSignal } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

/** Between the unexpected exit of a worker and the start of the next. */
const RESPAWN_DELAY_MS = 1000

/**
 * Lets `workers` processes answer on one port and one store, and does what is to be done once: migrating, purging, saying
 * when all are ready, ending. A worker that exits unexpectedly is replaced. On SIGHUP every worker is replaced, one after
 * the other, and no request is dropped. Resolves to the address when all workers listen.
 */
export async function runLeader(store: Store, telemetry: Telemetry, workers: number): Promise<string> {
  const { observe } = telemetry
  const serving = new Set<Worker>()
  let isClosing = false

  // One first: an error that would stop them all is then reported once.
  const address = await start()
  await Promise.all(Array.from({ length: workers - 1 }, start))
  const purgeLoop = startPurgeLoop({ store, now: Date.now, monotonic: () => performance.now(), observe })

  let restarted = Promise.resolve()
  process.on('SIGHUP', () => {
    restarted = restarted.then(restart).catch((err) => observe({ type: 'rolling restart failed', err }))
  })
  closeOnSignal(
    telemetry,
    async ({ signal }) => {
      isClosing = true
      observe({ type: 'stopping', signal })
      const all = Object.values(cluster.workers as NodeJS.Dict<Worker>) as Worker[]
      await Promise.all(all.map(close))
      await purgeLoop.stop()
      await store.close()
      observe({ type: 'stopped' })
    },
    { skip: ['SIGHUP'] },
  )
  return address

  /** Starts one more worker. Resolves to its address when it listens; throws OperatorError when it exited before. */
  async function start(): Promise<string> {
    const worker = cluster.fork()
    const address = await new Promise<string>((resolve, reject) => {
      onWorkerMessage(worker, {
        listening: (message) => resolve(message.address),
        retired: () => tellWorker(worker, { type: 'close' }),
      })
      worker.once('exit', () => reject(new OperatorError('A worker exited before it was ready.')))
    })
    serving.add(worker)
    // A worker that was still starting has missed the message.
    if (isClosing) tellWorker(worker, { type: 'close' })
    worker.once('exit', (code, signal) => {
      if (serving.delete(worker) && !isClosing) void replace({ worker: worker.process.pid, code, signal })
    })
    return address
  }

  async function replace(exit: { worker?: number | undefined; code?: number; signal?: string; err?: unknown }) {
    observe({ type: 'worker exited unexpectedly', ...exit })
    await sleep(RESPAWN_DELAY_MS)
    if (!isClosing) await start().catch((err) => replace({ err }))
  }

  async function restart(): Promise<void> {
    observe({ type: 'restarting' })
    for (const worker of [...serving]) {
      if (isClosing) return
      await start()
      if (serving.delete(worker)) tellWorker(worker, { type: 'retire' })
    }
    observe({ type: 'restarted' })
  }

  async function close(worker: Worker): Promise<void> {
    tellWorker(worker, { type: 'close' })
    if (!worker.isDead()) await once(worker, 'exit')
  }
}
