import type { FastifyInstance } from 'fastify'

declare module 'fastify' {
  interface FastifyRequest {
    /** Lets the next request have its turn. Null: this one has not had its own. */
    endTurn: (() => void) | null
  }
}

/**
 * Has one request worked on at a time, and a turn of the event loop for others after each. The process may be the one that
 * issues tokens: however many ask here, those who ask for tokens wait for a step of one request.
 */
export function takeTurns(app: FastifyInstance): void {
  let last: Promise<unknown> = Promise.resolve()
  app.decorateRequest('endTurn', null)
  app.addHook('preHandler', async (request) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = last
    last = promise
    await before
    request.endTurn = () => setImmediate(resolve)
  })
  // Its work is done; who takes the answer slowly, or a stream, is not waited for.
  app.addHook('onSend', (request, _reply, _payload, done) => {
    request.endTurn?.()
    done()
  })
}
