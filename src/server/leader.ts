import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { AdministrationError } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { endWell, startLoggedPurge } from './run.ts'
import type { Listening, Order } from './worker.ts'

/** Between the end of a worker that nobody asked for and the start of the next, in milliseconds. */
const BREATH = 1000

/**
 * Lets so many processes answer on one port and one store, and does what is to be done once: migrating, purging, saying
 * when all is ready, ending. A worker that ends unasked is replaced. On SIGHUP every worker is replaced, one after the
 * other, and no request is dropped. Resolves to the address when all workers listen.
 */
export async function lead(store: Store, log: Logger, workers: number): Promise<string> {
  const serving = new Set<Worker>()
  let ending = false

  // The first alone: what stops it would stop them all, and is said once.
  const address = await add()
  await Promise.all(Array.from({ length: workers - 1 }, add))
  const purge = startLoggedPurge(store, log)

  let restarted = Promise.resolve()
  process.on('SIGHUP', () => {
    restarted = restarted.then(restart).catch((err) => log.error({ err }, 'the restart was given up'))
  })
  endWell(
    log,
    async ({ signal }) => {
      ending = true
      log.info({ signal }, 'stopping')
      const all = Object.values(cluster.workers as NodeJS.Dict<Worker>) as Worker[]
      await Promise.all(all.map(end))
      await purge.stop()
      await store.close()
      log.info('stopped')
    },
    { skip: ['SIGHUP'] },
  )
  return address

  /** Starts one more worker. Resolves to its address when it listens; throws when it ended before. */
  async function add(): Promise<string> {
    const worker = cluster.fork()
    const { address } = await new Promise<Listening>((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('exit', () => reject(new AdministrationError('A worker ended before it was ready.')))
    })
    serving.add(worker)
    // The next that it says is that it is retired.
    worker.once('message', () => tell(worker, 'close'))
    // Before it listened it heard nothing.
    if (ending) tell(worker, 'close')
    worker.once('exit', (code, signal) => {
      if (serving.delete(worker) && !ending) void replace({ worker: worker.process.pid, code, signal })
    })
    return address
  }

  async function replace(ended: object): Promise<void> {
    log.error(ended, 'a worker ended unasked, another one is started')
    await sleep(BREATH)
    if (!ending) await add().catch((err) => replace({ err }))
  }

  async function restart(): Promise<void> {
    log.info('restarting')
    for (const worker of [...serving]) {
      if (ending) return
      await add()
      if (serving.delete(worker)) tell(worker, 'retire')
    }
    log.info('restarted')
  }

  async function end(worker: Worker): Promise<void> {
    tell(worker, 'close')
    if (!worker.isDead()) await once(worker, 'exit')
  }
}

function tell(worker: Worker, order: Order): void {
  if (worker.isConnected()) worker.send(order)
}
