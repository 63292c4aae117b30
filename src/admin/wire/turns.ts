import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from './problem.ts'

/** How many requests may wait; further ones get 503. A single connection can send any number by pipelining. */
const MAX_WAITING = 64

/**
 * Handles one request at a time, and yields to the event loop after each. The live overview is exempt, because it takes almost
 * no work. If the process also issues tokens, a token request waits for one step of one admin request at most.
 */
export function takeTurns(app: FastifyInstance): void {
  const turns = new WeakMap<FastifyRequest, () => void>()
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  app.addHook('preHandler', async (request) => {
    if (request.routeOptions.url === '/live') return
    if (waiting >= MAX_WAITING) {
      throw new ProblemError({ status: 503, detail: 'Too many requests are waiting.', headers: { 'retry-after': '1' } })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = last
    last = promise
    waiting++
    await before
    waiting--
    turns.set(request, resolve)
    if (request.socket.destroyed) throw new ProblemError({ status: 400, detail: 'The connection is closed.' })
  })
  // The work is done. A slow client must not hold up the others.
  app.addHook('onSend', (request, _reply, _payload, done) => {
    const end = turns.get(request)
    if (end) setImmediate(end)
    done()
  })
}
