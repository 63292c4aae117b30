import type { ApplicationKey } from '../domain/application.ts'
import type { ApplicationCounts, Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { beginningsOf, type Counts, PERIODS, type Period, type Usage } from '../domain/usage.ts'
import type { Context } from './context.ts'
import { stepsOf } from './pages.ts'

/** What an application or a suite did in a period; empty: all clients together. Throws StoreUnavailable. */
export async function usageOf(
  { store, now }: Pick<Context, 'store' | 'now'>,
  clientId: string,
  period: Period,
): Promise<Usage> {
  const { span } = PERIODS[period]
  const beginnings = beginningsOf(PERIODS[period], now())
  const counted = new Map((await store.listUsage([clientId], span, beginnings)).map((counts) => [counts.since, counts]))
  const points = beginnings.map((since) => ({ since, ...(counted.get(since) ?? NOTHING) }))
  return { period, stepSeconds: span / 1000, ...points.reduce<Counts>(sum, NOTHING), points }
}

/** How many rows are read per step: 0.5 ms of work. */
const STEP = 500

/** What each application did in a period, by its key: in steps, between which other requests are handled. */
export async function usageOfAll(
  { store, now }: { store: Pick<Store, 'pageOfUsage'>; now: Clock },
  period: Period,
): Promise<Map<ApplicationKey, Counts>> {
  const { compared } = PERIODS[period]
  const [since] = beginningsOf(compared, now()) as [number]
  const sums = new Map<ApplicationKey, Counts>()
  const pages = stepsOf<ApplicationCounts>((last) => store.pageOfUsage(compared.span, last ?? { since }, STEP), STEP)
  for await (const rows of pages) {
    for (const row of rows) sums.set(row.key, sum(sums.get(row.key) ?? NOTHING, row))
  }
  return sums
}

const NOTHING: Counts = { tokens: 0, checks: 0, refusals: 0 }

function sum(one: Counts, other: Counts): Counts {
  return {
    tokens: one.tokens + other.tokens,
    checks: one.checks + other.checks,
    refusals: one.refusals + other.refusals,
  }
}
