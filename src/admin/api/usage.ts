import { view } from '../../domain/schema.ts'
import { PERIOD_NAMES, USAGE } from '../../domain/usage.ts'
import { choiceOf, type Query } from './query.ts'
import type { AddRoute } from './routes.ts'
import { answer, query } from './schemas.ts'

const SHOW = { querystring: query('period'), ...answer(USAGE) }

/** What applications and suites did in a period. */
export function usage(route: AddRoute): void {
  const periodOf = (query: Query) => choiceOf('period', PERIOD_NAMES, query) ?? '24h'
  route('GET', '/applications/:client_id/usage', SHOW, async ({ applications }, { params: { client_id }, query }) =>
    view(USAGE, await applications.usage(client_id, periodOf(query))),
  )
  route('GET', '/suites/:suite_id/usage', SHOW, async ({ suites }, { params: { suite_id }, query }) =>
    view(USAGE, await suites.usage(suite_id, periodOf(query))),
  )
}
