import type { Statistics, StatisticsSource, WorkerStatistics } from '../domain/statistics.ts'
import type { Fleet } from '../telemetry/metrics/fleet.ts'
import { createHistory } from '../telemetry/metrics/history.ts'
import { VERSION } from '../version.ts'
import type { ServerFigures } from './server-figures.ts'

const SECOND_MS = 1000

/** Remembers what is counted, from now on until it is stopped, for operators who look at the server. */
export function startStatistics(
  { numbers, fleet, workers, ofStore, now, monotonic }: ServerFigures,
  { storeKind }: { storeKind: Statistics['store']['kind'] },
): StatisticsSource & { stop(): void } {
  const history = createHistory(numbers, { now, monotonic })
  const startedAt = now()
  const looking = setInterval(history.look, SECOND_MS).unref()

  return {
    async read() {
      const { isUp, size, lastBackupAt, liveTokens, endingSecrets } = await ofStore.lookCloser()
      return {
        at: now(),
        startedAt,
        version: VERSION,
        ...history.read(),
        liveTokens,
        endingSecrets,
        workers: { expected: workers.expected, serving: workers.serving(), each: ofFleet(fleet) },
        store: { kind: storeKind, isUp, databaseBytes: size?.database, logBytes: size?.log, lastBackupAt },
      }
    },
    stop: () => clearInterval(looking),
  }
}

function ofFleet({ each }: Fleet): WorkerStatistics[] {
  const [resident, lag] = [each('residentBytes'), each('lagSeconds')]
  return [...each('cpuSeconds')].map(([place, cpuSeconds]) => ({
    worker: place + 1,
    cpuSeconds,
    residentBytes: resident.get(place) as number,
    lagSeconds: lag.get(place) as number,
  }))
}
