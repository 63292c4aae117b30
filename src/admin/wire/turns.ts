import type { FastifyInstance } from 'fastify'
import { ProblemError } from './problem.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Lets the next request start. Null: this one has not started. */
    endTurn: (() => void) | null
  }
}

/** Further requests get 503. A single connection can send any number by pipelining. */
const MAX_WAITING = 64

/**
 * Handles one request at a time, and yields to the event loop after each. The process may also issue tokens: a token request
 * then waits for one step of one admin request at most, however many there are. `except`: the URLs of routes with almost no work.
 */
export function takeTurns(app: FastifyInstance, { except }: { except: readonly string[] }): void {
  let last: Promise<unknown> = Promise.resolve()
  let waiting = 0
  app.decorateRequest('endTurn', null)
  app.addHook('preHandler', async (request) => {
    if (except.includes(String(request.routeOptions.url))) return
    if (waiting >= MAX_WAITING) {
      throw new ProblemError({ status: 503, detail: 'Too many requests are waiting.', headers: { 'retry-after': '1' } })
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
  // The work is done. A slow client must not hold up the others.
  app.addHook('onSend', (request, _reply, _payload, done) => {
    request.endTurn?.()
    done()
  })
}
