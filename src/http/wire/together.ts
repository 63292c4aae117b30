import type { FastifyInstance } from 'fastify'

/**
 * Makes the answers of one turn of the event loop leave together at its end: whoever waits for them is then woken once and
 * not for each of them, which costs the sender much (docs/performance.md).
 */
export function answerTogether(app: FastifyInstance): void {
  app.addHook('onSend', (_request, _reply, _payload, done) => {
    setImmediate(done)
  })
}
