import type { KeyObject } from 'node:crypto'
import { hostname } from 'node:os'
import { readAuditKey } from '../administration/audit-chain.ts'
import { noticeFiles } from '../config.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import type { Listener } from '../ops/listener.ts'
import type { Opened } from '../store/opened.ts'
import { VERSION } from '../version.ts'
import { type AdminConfig, startAdmin } from './admin.ts'
import { type Certificates, openCertificates } from './certificates.ts'
import { createServerFigures, type ServerFigures, type Workers } from './figures.ts'
import type { startNotices } from './notices.ts'
import { onDemand } from './on-demand.ts'
import { startOps } from './ops.ts'
import { startPurgeLoop } from './purge-loop.ts'
import type { OperatorSignal } from './signals.ts'
import { type RunningStatistics, startPresence, startStatistics } from './statistics.ts'
import type { Telemetry } from './telemetry.ts'

const CLOCKS = { now: Date.now, monotonic: () => performance.now() }

/**
 * What a server has once, however many workers it has: its own connection to the store, the listeners for operators, the purge,
 * the notices.
 */
export function createControlPlane(
  open: () => Promise<Opened>,
  { observe, counters, flush }: Telemetry,
  config: AdminConfig,
  workers: Workers,
) {
  const figures = counters && createServerFigures(counters, workers)
  let certificates: Certificates | undefined
  let auditKey: KeyObject | undefined
  let ops: Listener | undefined
  let store: Opened | undefined
  let admin: Listener | undefined
  let statistics: Awaited<ReturnType<typeof statisticsOf>>
  let beginNotices: (() => ReturnType<typeof startNotices>) | undefined
  let notices: ReturnType<typeof startNotices> | undefined
  let purgeLoop: ReturnType<typeof startPurgeLoop> | undefined

  /** Closes everything. The store stays open until `answering` has ended. */
  async function close(answering?: Promise<unknown>): Promise<void> {
    await Promise.all([admin?.close(), statistics?.stop(), answering, certificates?.stop()])
    await Promise.all([purgeLoop?.stop(), notices?.stop()])
    await Promise.all([store?.close(), ops?.close()])
  }

  return {
    /** Undefined if nothing is counted. */
    fleet: figures?.fleet,

    /** Opens the store and the listeners. Throws OperatorError. */
    async open(): Promise<{ store: Opened; certificates: Certificates }> {
      certificates = await openCertificates(config, { observe })
      auditKey = await readAuditKey(config.AUDIT_KEY_FILE)
      ops = await startOps(config, { figures, observe, certificates, noticesWaitSince: () => notices?.waitingSince() })
      store = await open()
      figures?.storeFigures.open(store)
      statistics = figures && (await statisticsOf(store, figures, { config, certificates }))
      admin = await startAdmin(config, { store, observe, statistics, certificates })
      if (statistics) beginNotices = await loadNotices(config, { store, statistics, observe, auditKey })
      return { store, certificates }
    },

    /** Starts the purge, and reports that requests are answered at this address. */
    begin(address: string, workers?: number): { address: string; admin: string | undefined } {
      const { database, previous } = store as Opened
      purgeLoop = startPurgeLoop({ store: store as Opened, ...CLOCKS, observe, auditKey })
      notices = beginNotices?.()
      const listeners = { address, ops: ops?.address, admin: admin?.address }
      observe({ type: 'ready', version: VERSION, ...listeners, database, previous, ...(workers && { workers }) })
      return listeners
    },

    /** Closes what is open after a failed start. Ignores errors: that of the start is the one to report. */
    abandon: async (): Promise<void> => void (await Promise.allSettled([close()])),

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

/** The statistics for the console and for notices, and of a node for the others; undefined if nobody wants them. */
async function statisticsOf(
  store: Store,
  figures: ServerFigures,
  { config, certificates }: { config: AdminConfig; certificates: Certificates },
) {
  const isAsked = [config.ADMIN_ADDRESS, config.NOTICE_URL_FILE].some((one) => one !== undefined)
  if (!isAsked && !store.nodes) return undefined
  const refusals = await onDemand(isAsked ? config : { WORKERS: 1 }, () => import('../administration/refusals.ts'))
  const statistics = await startStatistics(store, figures, {
    storeKind: config.DATABASE_URL.kind,
    name: `${hostname()}:${config.PORT}`,
    certificates,
    findTrouble: async () => (await refusals()).findTrouble({ store, now: Date.now }),
  })
  const presence = store.nodes && startPresence(store.nodes, statistics.thisNode)
  const stop = async () => {
    statistics.stop()
    await presence?.stop()
  }
  return { ...statistics, stop }
}

/** Loads what posts notices, at the start because an upgrade may remove the files later. Undefined if nobody wants them. */
async function loadNotices(
  config: AdminConfig,
  given: { store: Store; statistics: RunningStatistics; observe: Observer; auditKey: KeyObject | undefined },
) {
  const files = noticeFiles(config)
  if (!files) return undefined
  const { startNotices } = await import('./notices.ts')
  const source = { server: given.statistics.thisNode().name, consoleUrl: config.ADMIN_URL }
  return () => startNotices({ ...given, ...source, files, ...CLOCKS })
}
