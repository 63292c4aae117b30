import type { FastifyInstance } from 'fastify'
import { ProblemError } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Lets the next request have its turn. Null: this one has not had its own. */
    endTurn: (() => void) | null
  }
}

/** How many requests wait at most. One connection can send any number without waiting for answers. */
const MAX_WAITING = 64

/**
 * Has one request worked on at a time, and a turn of the event loop for others after each. The process may be the one that
 * issues tokens: however many ask here, those who ask for tokens wait for a step of one request.
 */
export function takeTurns(app: FastifyInstance): void {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  app.decorateRequest('endTurn', null)
  app.addHook('preHandler', async (request) => {
    if (waiting >= MAX_WAITING) {
      throw new ProblemError({ status: 503, detail: 'Too many requests wait.', headers: { 'retry-after': '1' } })
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = last
    last = promise
    waiting++
    await before
    waiting--
    request.endTurn = () => setImmediate(resolve)
    if (request.socket.destroyed) throw new ProblemError({ status: 400, detail: 'The connection is closed.' })
  })
  // Its work is done; who takes the answer slowly, or a stream, is not waited for.
  app.addHook('onSend', (request, _reply, _payload, done) => {
    request.endTurn?.()
    done()
  })
}
