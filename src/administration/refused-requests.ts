import type { RefusedRequest, RefusedRequestFilter } from '../domain/refusal.ts'
import type { Store } from '../domain/store.ts'
import { ROWS_PER_STEP, stepsOf } from './pages.ts'
import { finderOf } from './search.ts'

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
