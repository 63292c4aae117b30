import type { Listener } from '../ops/listener.ts'
import type { Opened } from '../store/opened.ts'
import { VERSION } from '../version.ts'
import { type AdminConfig, startAdmin } from './admin.ts'
import { type Certificates, openCertificates } from './certificates.ts'
import { createServerFigures, type Workers } from './figures.ts'
import { startOps } from './ops.ts'
import { startPurgeLoop } from './purge-loop.ts'
import type { OperatorSignal } from './signals.ts'
import type { Telemetry } from './telemetry.ts'

/** What a server has once, however many workers it has: its own connection to the store, the listeners for operators, the purge. */
export function createControlPlane(
  open: () => Promise<Opened>,
  { observe, counters, flush }: Telemetry,
  config: AdminConfig,
  workers: Workers,
) {
  const figures = counters && createServerFigures(counters, workers)
  let certificates: Certificates | undefined
  let ops: Listener | undefined
  let store: Opened | undefined
  let admin: Listener | undefined
  let purgeLoop: ReturnType<typeof startPurgeLoop> | undefined

  /** Closes everything. The store stays open until `answering` has ended. */
  async function close(answering?: Promise<unknown>): Promise<void> {
    await Promise.all([admin?.close(), answering, certificates?.stop()])
    await purgeLoop?.stop()
    await Promise.all([store?.close(), ops?.close()])
  }

  return {
    /** Undefined if nothing is counted. */
    fleet: figures?.fleet,

    /** Opens the store and the listeners. Throws OperatorError. */
    async open(): Promise<{ store: Opened; certificates: Certificates }> {
      certificates = await openCertificates(config, { observe })
      ops = await startOps(config, { figures, observe, certificates })
      store = await open()
      figures?.storeFigures.open(store)
      admin = await startAdmin(config, { store, observe, figures, certificates })
      return { store, certificates }
    },

    /** Reads the certificates again. */
    reload: async () => void (await certificates?.reload()),

    /** Starts the purge, and reports that requests are answered at this address. */
    begin(address: string, workers?: number): { address: string; admin: string | undefined } {
      const { database, previous } = store as Opened
      purgeLoop = startPurgeLoop({ store: store as Opened, now: Date.now, monotonic: () => performance.now(), observe })
      const listeners = { address, ops: ops?.address, admin: admin?.address }
      observe({ type: 'ready', version: VERSION, ...listeners, database, previous, ...(workers && { workers }) })
      return listeners
    },

    /** Closes what is open after a failed start. Ignores errors: that of the start is the one to report. */
    async abandon(): Promise<void> {
      await Promise.allSettled([close()])
    },

    /** Shuts the server down after `started`. `endAnswering` ends the processes that answer requests. */
    async stop(
      signal: OperatorSignal | undefined,
      endAnswering: () => Promise<unknown>,
      started?: Promise<unknown>,
    ): Promise<void> {
      observe({ type: 'stopping', signal })
      if (started) await started
      await close(endAnswering())
      await flush()
      observe({ type: 'stopped' })
    },
  }
}
