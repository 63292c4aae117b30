import { PassThrough } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { callerOf } from '../wire/caller.ts'
import { createBroadcast, type Listener } from './broadcast.ts'
import { overviewLiveValues } from './overview-live-values.ts'

/**
 * GET /live: an event stream with the changed values of the overview, once a second. It does not keep the session alive, and
 * ends with it.
 */
export function serveLive(console: FastifyInstance, { signIn, statistics, liveInterval }: AdminContext): void {
  const broadcast = createBroadcast({
    read: async () => overviewLiveValues(await statistics.read()),
    interval: liveInterval,
  })
  console.addHook('preClose', async () => broadcast.end())

  console.get('/live', { exposeHeadRoute: false }, async (request, reply) => {
    const { credential, operator } = callerOf(request)
    const stream = new PassThrough()
    const listener: Listener = {
      operator: operator.name,
      isSignedIn: async () => (await signIn.findSession(credential, { touch: false })) !== undefined,
      isBusy: () => stream.writableNeedDrain,
      tell: (event) => void stream.write(event),
      end: () => void stream.end(),
    }
    if (!broadcast.join(listener)) {
      return reply.code(503).header('retry-after', '30').type('text/plain').send('Too many pages are open.\n')
    }
    stream.once('close', () => broadcast.leave(listener))
    // Prevents nginx from buffering the events.
    return reply.type('text/event-stream; charset=utf-8').header('x-accel-buffering', 'no').send(stream)
  })
}
