import { randomUUID } from 'node:crypto'
import { byName } from '../administration/search.ts'
import { NODE_GONE_MS, NODE_INTERVAL_MS, type ServerNode, type Trouble } from '../domain/statistics.ts'
import type { Nodes, Store } from '../domain/store.ts'
import { HOUR, MANY_TOKENS, sumOf } from '../domain/usage.ts'
import type { Sample } from '../telemetry/metrics/fleet.ts'
import { countFailures, createHistory, joinOutages, outageAt } from '../telemetry/metrics/history.ts'
import { VERSION } from '../version.ts'
import type { NodeStatistics, Outage, Statistics, StatisticsSource, WorkerStatistics } from '../views/statistics.ts'
import type { Certificates } from './certificates.ts'
import { LIVE_MAX_AGE_MS, type ServerFigures, STORE_TIMEOUT_MS, shareFigure } from './figures.ts'
import { startLoop, within } from './loops.ts'

/** The stored requests that failed because the store could not be used. */
const FAILURES = { reason: 'store unavailable', limit: 1000 }

/** How long the last known trouble is shown while it is being read again. Milliseconds. */
const TROUBLE_GRACE_MS = 60_000

interface StatisticsOptions {
  storeKind: Statistics['store']['kind']
  name: string
  findTrouble: () => Promise<Trouble>
  certificates: Pick<Certificates, 'list'>
}

/** The statistics of a running server, for those who ask. */
export type RunningStatistics = StatisticsSource & { thisNode(): ServerNode; stop(): void }

/** Collects the statistics of the server until it is stopped. Begins with the outages that the store knows of. */
export async function startStatistics(
  store: Pick<Store, 'listRefusedRequests'>,
  { counters, fleet, workers, storeFigures, now, monotonic }: ServerFigures,
  { storeKind, name, findTrouble, certificates }: StatisticsOptions,
): Promise<RunningStatistics> {
  const history = createHistory(counters, { now, monotonic })
  const startedAt = now()
  const outages = await followOutages(store, { counters, now, monotonic })
  const ages = { maxAge: LIVE_MAX_AGE_MS, grace: TROUBLE_GRACE_MS }
  const trouble = shareFigure(findTrouble, { ...ages, timeout: STORE_TIMEOUT_MS, monotonic })
  const id = randomUUID()
  const timer = setInterval(() => {
    history.takeSnapshot()
    outages.update()
  }, 1000).unref()

  function thisNode({ lastMinute } = history.read()): ServerNode {
    const { tokens, activeChecks, inactiveChecks, refusals } = lastMinute
    return {
      id,
      name,
      version: VERSION,
      startedAt,
      lastSeenAt: now(),
      workers: { expected: workers.expected, serving: workers.serving() },
      lastMinute: { tokens, checks: activeChecks + inactiveChecks, refusals },
    }
  }

  return {
    thisNode,
    readTrouble: async (version) => (await trouble(version)).figure,
    outages: outages.list,
    readUsage: storeFigures.readUsage,
    readStates: storeFigures.readStates,
    async read() {
      const { readAll, readUsage } = storeFigures
      const [figures, { figure }, usage = []] = await Promise.all([readAll(), trouble(), readUsage('1h')])
      const { state, size, lastBackupAt, auditHead, liveTokens, endingSecrets, nodes = [], issuers = [] } = figures
      const seen = history.read()
      return {
        at: now(),
        startedAt,
        version: VERSION,
        name,
        ...seen,
        outages: outages.list(),
        stored: sumOf(now() - startedAt < HOUR ? usage : []),
        trouble: figure,
        heavy: usage.filter(({ tokens }) => tokens > MANY_TOKENS).sort((one, other) => other.tokens - one.tokens),
        ...{ hours: figures.hours, liveTokens, endingSecrets },
        certificates: certificates.list(),
        issuers,
        workers: { expected: workers.expected, serving: workers.serving(), each: fleet.samples().map(workerOf) },
        // While the store is unavailable, the state of other nodes is unknown.
        nodes: storeKind === 'postgres' ? allNodes(thisNode(seen), state.isUp ? nodes : []) : [],
        store: {
          ...{ kind: storeKind, ...state, databaseBytes: size?.database, logBytes: size?.log },
          ...{ lastBackupAt, auditHead },
        },
      }
    },
    stop: () => clearInterval(timer),
  }
}

async function followOutages(
  store: Pick<Store, 'listRefusedRequests'>,
  { counters, now, monotonic }: Pick<ServerFigures, 'counters' | 'now' | 'monotonic'>,
) {
  const newFailures = countFailures(counters)
  const until = now()
  const readStored = async () =>
    (await store.listRefusedRequests({ ...FAILURES, until })).map(({ at }) => outageAt(at, 1)).toReversed()
  const stored = shareFigure(readStored, { maxAge: Infinity, timeout: STORE_TIMEOUT_MS, monotonic })
  let { figure: before = [] } = await stored()
  let since: Outage[] = []
  return {
    list: () => joinOutages([...before, ...since]),
    update(): void {
      const failures = newFailures()
      if (failures > 0) since = joinOutages([...since, outageAt(now(), failures)])
      // Read once, but again if the store did not answer.
      void stored().then(({ figure = [] }) => {
        before = figure
      })
    },
  }
}

/** This node as it is now, and the others as they were recorded last. */
function allNodes(thisNode: ServerNode, known: readonly ServerNode[]): NodeStatistics[] {
  const others = known.filter(({ id }) => id !== thisNode.id)
  return [thisNode, ...others]
    .map((node) => ({
      ...node,
      isThis: node === thisNode,
      isGone: thisNode.lastSeenAt - node.lastSeenAt > NODE_GONE_MS,
    }))
    .toSorted((one, other) => byName(one.name, other.name) || one.startedAt - other.startedAt)
}

function workerOf([slot, { cpuSeconds, residentBytes, lagSeconds }]: [number, Sample]): WorkerStatistics {
  return { worker: slot + 1, cpuSeconds, residentBytes, lagSeconds }
}

/** How long `stop` waits for the node to be removed from the store. Milliseconds. */
const STOP_TIMEOUT_MS = 1000

/**
 * Records this node and its figures in the store at each interval, until it is stopped. Failures are ignored: the next record
 * makes up for them, and other events report that the store is unavailable.
 */
export function startPresence(nodes: Nodes, thisNode: () => ServerNode, { interval = NODE_INTERVAL_MS } = {}) {
  const record = async () => {
    await nodes.record(thisNode()).catch(() => {})
    return interval
  }
  const loop = startLoop(record, { ref: false })
  return {
    /** Removes the node from the store. Resolves after STOP_TIMEOUT_MS at the latest. */
    async stop(): Promise<void> {
      const removed = loop.stop().then(() => nodes.remove(thisNode().id).catch(() => {}))
      await within(STOP_TIMEOUT_MS, removed)
    },
  }
}
