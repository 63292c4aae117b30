import type { FastifyInstance } from 'fastify'
import { PERIOD_NAMES } from '../../domain/usage.ts'
import { view } from '../../views/schema.ts'
import { STATISTICS, USAGE } from '../../views/statistics.ts'
import type { AdminContext } from '../context.ts'
import { choiceOf, query } from './query.ts'
import { type AddRoute, answer } from './routes.ts'

/** /statistics: the figures of the console's overview. */
export function statistics(api: FastifyInstance, { statistics }: AdminContext): void {
  // Fastify's serializer would refuse a figure that is not finite.
  const options = { schema: answer(STATISTICS), serializerCompiler: () => JSON.stringify }
  api.get('/statistics', options, async () => view(STATISTICS, await statistics.read()))
}

export function usage(route: AddRoute): void {
  const schema = { querystring: query('period'), ...answer(USAGE) }
  for (const owners of ['applications', 'suites'] as const) {
    route('GET', `/${owners}/:owner/usage`, schema, async ({ [owners]: { show }, usageOf }, { params, query }) => {
      await show(params.owner)
      const period = choiceOf('period', PERIOD_NAMES, query) ?? '24h'
      return view(USAGE, { period, ...(await usageOf(params.owner, period)) })
    })
  }
}
