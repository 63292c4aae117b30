import type { Administration } from '../../administration/administration.ts'
import { PERIOD_NAMES } from '../../domain/usage.ts'
import { view } from '../../domain/views/schema.ts'
import { USAGE } from '../../domain/views/usage.ts'
import { choiceOf, type Query } from './query.ts'
import type { AddRoute } from './routes.ts'
import { answer, query } from './schemas.ts'

const SHOW = { querystring: query('period'), ...answer(USAGE) }

/** What applications and suites did in a period. */
export function usage(route: AddRoute): void {
  const read = async ({ usageOf }: Administration, clientId: string, query: Query) =>
    view(USAGE, await usageOf(clientId, choiceOf('period', PERIOD_NAMES, query) ?? '24h'))
  route('GET', '/applications/:client_id/usage', SHOW, async (administration, { params, query }) => {
    const { clientId } = await administration.applications.show(params.client_id)
    return read(administration, clientId, query)
  })
  route('GET', '/suites/:suite_id/usage', SHOW, async (administration, { params, query }) => {
    const { suiteId } = await administration.suites.show(params.suite_id)
    return read(administration, suiteId, query)
  })
}
