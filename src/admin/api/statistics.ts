import type { FastifyInstance } from 'fastify'
import { view } from '../../domain/views/schema.ts'
import { STATISTICS } from '../../domain/views/statistics.ts'
import type { AdminContext } from '../context.ts'
import { answer } from './schemas.ts'

/** /statistics: the figures of the console's overview. */
export function statistics(api: FastifyInstance, { statistics }: AdminContext): void {
  // Fastify's serializer would refuse a figure that is not finite.
  const options = { schema: answer(STATISTICS), serializerCompiler: () => JSON.stringify }
  api.get('/statistics', options, async () => view(STATISTICS, await statistics.read()))
}
