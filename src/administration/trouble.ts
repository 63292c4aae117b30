import { inSteps } from '../domain/in-steps.ts'
import { isTokenReason } from '../domain/reasons.ts'
import type { RefusedClient } from '../domain/refusal.ts'
import type { Trouble } from '../domain/statistics.ts'
import { DAY, HOUR } from '../domain/usage.ts'
import type { Administration, AdministrationOptions } from './administration.ts'

/** How many of the last refusals are looked at, and how many of their clients. */
export const LOOKED_AT = 1000
const MAX_CLIENTS = 100

/** Finds out which clients are refused now, as `why` does, in small steps. Throws StoreUnavailable. */
export async function findTrouble(
  { why }: Pick<Administration, 'why'>,
  { store, now }: Pick<AdministrationOptions, 'store' | 'now'>,
): Promise<Trouble> {
  const isWithin = (age: number) => (row: RefusedClient) => row.lastAt > now() - age
  const rows = (await store.listLastRefused(LOOKED_AT)).filter(isWithin(DAY))
  const { checks = [], requests = [] } = Object.groupBy(rows, (row) => (isOfNobody(row) ? 'checks' : 'requests'))
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
  return { failing: failing.sort(mostFirst), refusedChecks: [...recent.values()].map(sumOf).sort(mostFirst) }
}

/** Whether it was a check of a token that is of no known application, which counts for the suite. */
function isOfNobody({ kind, reason }: RefusedClient): boolean {
  return kind === 'suite' && isTokenReason(reason)
}

function sumOf(rows: readonly RefusedClient[]): Trouble['refusedChecks'][number] {
  const { id: suite, reason } = rows[0] as RefusedClient
  const count = rows.reduce((sum, row) => sum + row.count, 0)
  return { suite, reason, count, since: Math.min(...rows.map(({ firstAt }) => firstAt)) }
}

function mostFirst(one: { count: number }, other: { count: number }): number {
  return other.count - one.count
}
