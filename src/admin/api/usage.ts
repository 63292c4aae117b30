import { PERIOD_NAMES } from '../../domain/usage.ts'
import { view } from '../../domain/views/schema.ts'
import { USAGE } from '../../domain/views/usage.ts'
import { choiceOf } from './query.ts'
import type { AddRoute } from './routes.ts'
import { answer, query } from './schemas.ts'

const SHOW = { querystring: query('period'), ...answer(USAGE) }

/** What applications and suites did in a period. */
export function usage(route: AddRoute): void {
  for (const owners of ['applications', 'suites'] as const) {
    route('GET', `/${owners}/:owner/usage`, SHOW, async ({ [owners]: { show }, usageOf }, { params, query }) => {
      await show(params.owner)
      return view(USAGE, await usageOf(params.owner, choiceOf('period', PERIOD_NAMES, query) ?? '24h'))
    })
  }
}
