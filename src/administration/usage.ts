import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import {
  type ApplicationCounts,
  beginningsOf,
  PERIODS,
  type Period,
  spansOf,
  sumOf,
  type TimeRange,
} from '../domain/usage.ts'
import type { Usage } from '../views/statistics.ts'
import { stepsOfNames } from './pages.ts'

interface Source {
  store: Pick<Store, 'listUsage' | 'listNames'>
  now: Clock
}

/** What an application or a suite did in a time; empty for all clients together. Throws StoreUnavailable. */
export async function usageOf({ store, now }: Source, clientId: string, asked: Period | TimeRange): Promise<Usage> {
  const ofPeriod = (period: Period) => ({ ...PERIODS[period], beginnings: beginningsOf(PERIODS[period], now()) })
  const { span, beginnings } = typeof asked === 'string' ? ofPeriod(asked) : spansOf(asked, now())
  const counted = await store.listUsage([clientId], span, beginnings)
  const points = beginnings.map((since) => ({ since, ...sumOf(counted.filter((counts) => counts.since === since)) }))
  return { stepSeconds: span / 1000, ...sumOf(points), points }
}

/** How many applications are looked up per step, which takes a millisecond. */
const STEP = 25

/** The counts of all applications that were active in a period. Works in steps, between which other requests are handled. */
export async function usageOfAll({ store, now }: Source, period: Period): Promise<ApplicationCounts[]> {
  const { compared } = PERIODS[period]
  const beginnings = beginningsOf(compared, now())
  const all: ApplicationCounts[] = []
  for await (const names of stepsOfNames(store, { limit: STEP })) {
    const clientIds = names.map(({ clientId }) => clientId)
    const counted = Map.groupBy(await store.listUsage(clientIds, compared.span, beginnings), (one) => one.clientId)
    for (const one of names) {
      const counts = counted.get(one.clientId)
      if (counts) all.push({ ...one, ...sumOf(counts) })
    }
  }
  return all
}
