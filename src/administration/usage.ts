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
  store: Pick<Store, 'listUsage' | 'listNames' | 'sumUsage'>
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

/** How many applications are summed up per step, which takes a millisecond. */
const STEP = 100

/** The counts of all applications that were active in a period. Works in steps, between which other requests are handled. */
export async function usageOfAll({ store, now }: Source, period: Period): Promise<ApplicationCounts[]> {
  const { compared } = PERIODS[period]
  const beginnings = beginningsOf(compared, now())
  const all: ApplicationCounts[] = []
  for await (const names of stepsOfNames(store, { limit: STEP })) {
    const keys = names.map(({ key }) => key)
    const sums = new Map((await store.sumUsage(keys, compared.span, beginnings)).map((sum) => [sum.key, sum]))
    for (const one of names) {
      const sum = sums.get(one.key)
      if (sum) all.push({ ...one, ...sum })
    }
  }
  return all
}
