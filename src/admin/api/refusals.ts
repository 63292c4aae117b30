import { cursorOf, keyOf } from '../../administration/pages.ts'
import { REFUSAL_FILTERS } from '../../domain/refusal.ts'
import { camelCased } from '../../domain/text.ts'
import { REFUSED_REQUEST } from '../../views/refused-request.ts'
import { list, view } from '../../views/schema.ts'
import { cursorIn, limitOf, timeOf } from './query.ts'
import type { AddRoute } from './routes.ts'
import { answer, pageOf, query } from './schemas.ts'

const FILTERS = ['request_id', ...REFUSAL_FILTERS] as const

const LIST = {
  querystring: query(...FILTERS, 'since', 'until', 'search', 'limit', 'before'),
  ...answer(pageOf('RefusalPage', 'refusals', list('Newest first', REFUSED_REQUEST))),
}

/** /refusals: refused requests one by one, newest first. */
export function refusals(route: AddRoute): void {
  route('GET', '/refusals', LIST, async ({ searchRefusedRequests }, { query }) => {
    const cursor = cursorIn('before', query)
    const before = cursor === undefined ? undefined : keyOf<number>(cursor)
    const filter = camelCased<Record<string, string>>(Object.fromEntries(FILTERS.map((name) => [name, query[name]])))
    const [since, until] = [timeOf('since', query), timeOf('until', query)]
    const asked = { ...filter, since, until, search: query.search, before, limit: limitOf(query) }
    const { requests, next } = await searchRefusedRequests(asked)
    const refusals = requests.map((one) => view(REFUSED_REQUEST, one))
    return { refusals, next: next === undefined ? null : cursorOf(next) }
  })
}
