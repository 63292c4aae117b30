import type { FastifyInstance } from 'fastify'
import type { Latency, Statistics, Traffic } from '../../domain/statistics.ts'
import { view } from '../../domain/views/schema.ts'
import { STATISTICS } from '../../domain/views/statistics.ts'
import type { AdminContext } from '../context.ts'
import { answer } from './schemas.ts'

/** /statistics: the figures of the console's overview. */
export function statistics(api: FastifyInstance, { statistics }: AdminContext): void {
  // Fastify's serializer would refuse a figure that is not finite.
  const options = { schema: answer(STATISTICS), serializerCompiler: () => JSON.stringify }
  api.get('/statistics', options, async () => statisticsView(await statistics.read()))
}

function statisticsView({ lastMinute, lastHour, minutes, ...statistics }: Statistics) {
  return view(STATISTICS, {
    ...statistics,
    lastMinute: withSeconds(lastMinute),
    lastHour: withSeconds(lastHour),
    minutes: minutes.map(({ endedAt, traffic }) => ({ endedAt, traffic: traffic && withSeconds(traffic) })),
  })
}

function withSeconds({ tokenLatency, checkLatency, ...traffic }: Traffic) {
  const inSeconds = (latency?: Latency) => latency && { p50Seconds: latency.p50, p99Seconds: latency.p99 }
  return { ...traffic, tokenLatency: inSeconds(tokenLatency), checkLatency: inSeconds(checkLatency) }
}
