import { inSteps } from '../domain/in-steps.ts'
import { isReported, isTokenReason } from '../domain/reasons.ts'
import type { RefusedClient, RefusedRequest, RefusedRequestFilter } from '../domain/refusal.ts'
import type { Trouble } from '../domain/statistics.ts'
import type { Store } from '../domain/store.ts'
import { DAY, HOUR } from '../domain/usage.ts'
import { isOfRemoved, listRemovals } from './audit-trail.ts'
import type { ReadContext } from './context.ts'
import { ROWS_PER_STEP, stepsOf } from './pages.ts'
import { lastUse } from './remedies.ts'
import { finderOf } from './search.ts'
import { createWhy } from './why.ts'

/** How many of the last refusals, and of their clients, are examined. */
export const LOOKED_AT = 1000
const MAX_CLIENTS = 100

/** Finds out which clients are being refused, as `why` does, in small steps. Throws StoreUnavailable. */
export async function findTrouble({ store, now }: ReadContext): Promise<Trouble> {
  // The remedies are posted to chats, which would make links of what callers have sent: a JWT, the id of a request.
  const listRefusals: Store['listRefusals'] = async (clientId) =>
    (await store.listRefusals(clientId)).map((row) => ({ ...row, detail: undefined, requestId: undefined }))
  // Look-alikes would only make a client doubtful, which is not looked for.
  const why = createWhy({ store: { ...store, listRefusals }, now }, async () => [])
  const isWithin = (age: number) => (row: { lastAt: number }) => row.lastAt > now() - age
  const rows = (await store.listLastRefused(LOOKED_AT)).filter(isWithin(DAY))
  // A check of a token that belongs to no known application counts for the suite.
  const { checks = [], requests = [] } = Object.groupBy(rows, ({ kind, reason }) =>
    kind === 'suite' && isTokenReason(reason) ? 'checks' : 'requests',
  )
  const failing: Trouble['failing'][number][] = []
  const reported: Trouble['reported'][number][] = []
  const diagnose = async ({ kind, id, name, ...newest }: RefusedClient) => {
    const { application, suite, health, cause, lines, ...found } = await why(id)
    if (application?.status === 'suspended') return
    const [only] = found.reported?.filter(isWithin(DAY)) ?? []
    const { reason, count, firstAt: since } = cause ?? newest
    if (health === 'wrong') {
      const workedAt = application?.lastTokenAt ?? lastUse(suite?.secrets ?? [])
      const recoveredAt = await findRecovery(store, { id, reason, since, workedAt })
      failing.push({ kind, id, name, reason, count, since, recoveredAt, ...(lines[0] && { remedy: lines[0] }) })
    } else if (only)
      reported.push({ id, name, reason: only.reason, count: only.count, since: only.firstAt, remedy: only.line })
  }
  // Those that were refused come first: only so many clients are examined.
  const byNeed = requests.toSorted((one, other) => Number(isReported(one.reason)) - Number(isReported(other.reason)))
  const clients = Map.groupBy(byNeed, ({ kind, id }) => `${kind} ${id}`)
  await inSteps(clients.values().take(MAX_CLIENTS), ([rows = []]) => diagnose(rows[0] as RefusedClient), 1)
  const recent = Map.groupBy(checks.filter(isWithin(HOUR)), ({ id, reason }) => `${id} ${reason}`)
  const refusedChecks = [...recent.values()].map(sumOf).sort(mostFirst)
  const unknown = (await store.listRefusals(undefined)).filter(isWithin(DAY))
  const removed = (unknown.length > 0 ? await listRemovals(store) : []).flatMap((removal) => {
    const rows = unknown.filter((refusal) => isOfRemoved(refusal, removal))
    return rows.length > 0 ? [{ ...removal, ...timesOf(rows) }] : []
  })
  const isPartial = rows.length === LOOKED_AT || clients.size > MAX_CLIENTS
  return { failing: failing.sort(mostFirst), reported: reported.sort(mostFirst), refusedChecks, removed, isPartial }
}

/** When it worked an hour or more after it was last refused for this reason: what was refused since is something new. */
async function findRecovery(
  { listRefusedRequests }: Pick<Store, 'listRefusedRequests'>,
  { id, reason, since, workedAt }: { id: string; reason: string; since: number; workedAt: number },
): Promise<number | undefined> {
  if (workedAt <= since) return undefined
  const [last] = await listRefusedRequests({ clientId: id, reason, until: workedAt, limit: 1 })
  return last && workedAt - last.at < HOUR ? undefined : workedAt
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

export interface RefusalQuery extends RefusedRequestFilter {
  /** Words in the id or the name of the client. */
  search?: string | undefined
}

/** One page of the matching requests, newest first. `next`: the id before which the next page begins; undefined on the last one. */
export async function searchRefusedRequests(
  { listRefusedRequests }: Pick<Store, 'listRefusedRequests'>,
  { search = '', limit, ...filter }: RefusalQuery,
): Promise<{ requests: RefusedRequest[]; next?: number | undefined }> {
  const size = search === '' ? limit + 1 : ROWS_PER_STEP
  const isFound = finderOf(search)
  const list = (last?: RefusedRequest) =>
    listRefusedRequests({ ...filter, before: last?.id ?? filter.before, limit: size })
  const found: RefusedRequest[] = []
  for await (const step of stepsOf(list, size)) {
    found.push(...step.filter(({ clientId, name }) => isFound(clientId ?? '', name ?? '')))
    if (found.length > limit) return { requests: found.slice(0, limit), next: found[limit - 1]?.id }
  }
  return { requests: found }
}
