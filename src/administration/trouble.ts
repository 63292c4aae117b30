import { abbreviated } from '../domain/application.ts'
import { inSteps } from '../domain/in-steps.ts'
import { isTokenReason } from '../domain/reasons.ts'
import type { RefusalCount, RefusedClient } from '../domain/refusal.ts'
import type { Trouble } from '../domain/statistics.ts'
import { DAY, HOUR } from '../domain/usage.ts'
import type { ReadContext } from './context.ts'
import { listRemovals } from './removals.ts'
import { createWhy } from './why.ts'

/** How many of the last refusals, and of their clients, are examined. */
export const LOOKED_AT = 1000
const MAX_CLIENTS = 100

/** How many hundreds of the last changes are searched for removed applications. */
const HUNDREDS = 10

/** Finds out which clients are being refused, as `why` does, in small steps. Throws StoreUnavailable. */
export async function findTrouble({ store, now }: ReadContext): Promise<Trouble> {
  const why = createWhy({ store, now })
  const isWithin = (age: number) => (row: { lastAt: number }) => row.lastAt > now() - age
  const rows = (await store.listLastRefused(LOOKED_AT)).filter(isWithin(DAY))
  // A check of a token that belongs to no known application counts for the suite.
  const { checks = [], requests = [] } = Object.groupBy(rows, ({ kind, reason }) =>
    kind === 'suite' && isTokenReason(reason) ? 'checks' : 'requests',
  )
  const failing: Trouble['failing'][number][] = []
  const diagnose = async ({ kind, id, name, ...newest }: RefusedClient) => {
    const { application, health, cause } = await why(id)
    const { reason, count, firstAt: since } = cause ?? newest
    if (health === 'wrong' && application?.status !== 'suspended')
      failing.push({ kind, id, name, reason, count, since })
  }
  const clients = Map.groupBy(requests, ({ kind, id }) => `${kind} ${id}`)
  await inSteps(clients.values().take(MAX_CLIENTS), ([rows = []]) => diagnose(rows[0] as RefusedClient), 1)
  const recent = Map.groupBy(checks.filter(isWithin(HOUR)), ({ id, reason }) => `${id} ${reason}`)
  const refusedChecks = [...recent.values()].map(sumOf).sort(mostFirst)
  const unknown = (await store.listRefusals(undefined)).filter(isWithin(DAY))
  const removals = unknown.length > 0 ? await listRemovals(store, HUNDREDS) : []
  const removed = removals.flatMap((removal) => {
    const isItsOwn = ({ clientId, lastAt }: RefusalCount) =>
      clientId === abbreviated(removal.clientId) && lastAt > removal.at
    const rows = unknown.filter(isItsOwn)
    return rows.length > 0 ? [{ ...removal, ...timesOf(rows) }] : []
  })
  return { failing: failing.sort(mostFirst), refusedChecks, removed }
}

function sumOf(rows: readonly RefusedClient[]): Trouble['refusedChecks'][number] {
  const { id: suite, reason } = rows[0] as RefusedClient
  return { suite, reason, ...timesOf(rows) }
}

function timesOf(rows: readonly { count: number; firstAt: number }[]) {
  const count = rows.reduce((sum, row) => sum + row.count, 0)
  return { count, since: Math.min(...rows.map(({ firstAt }) => firstAt)) }
}

function mostFirst(one: { count: number }, other: { count: number }): number {
  return other.count - one.count
}
