import type { FastifyInstance } from 'fastify'
import { view } from '../../domain/schema.ts'
import { type Latency, STATISTICS, type Statistics, type Traffic } from '../../domain/statistics.ts'
import type { AdminContext } from '../context.ts'
import { answer } from './schemas.ts'

/** /statistics: the figures of the overview. */
export function statistics(api: FastifyInstance, { statistics }: AdminContext): void {
  // A serializer made from the schema would refuse a figure that is not finite.
  const options = { schema: answer(STATISTICS), serializerCompiler: () => JSON.stringify }
  api.get('/statistics', options, async () => statisticsView(await statistics.read()))
}

function statisticsView(statistics: Statistics) {
  return view(STATISTICS, {
    ...statistics,
    lastMinute: withSeconds(statistics.lastMinute),
    lastHour: withSeconds(statistics.lastHour),
    minutes: statistics.minutes.map(({ endedAt, traffic }) => ({ endedAt, traffic: traffic && withSeconds(traffic) })),
  })
}

function withSeconds({ tokenLatency, checkLatency, ...traffic }: Traffic) {
  return { ...traffic, tokenLatency: inSeconds(tokenLatency), checkLatency: inSeconds(checkLatency) }
}

function inSeconds(latency: Latency | undefined) {
  return latency && { p50Seconds: latency.p50, p99Seconds: latency.p99 }
}
