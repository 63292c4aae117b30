import type { FastifyInstance, FastifyRequest } from 'fastify'
import { createFairQueue } from '../../limits/fair-queue.ts'
import { peerIn } from '../../web/address.ts'
import { ProblemError, RefusedOperator } from './problem.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Runs a step of an answer that takes many, such as a page of an export, as if it were a request of its own. */
    takeTurn<Result>(request: FastifyRequest, step: () => Promise<Result>): Promise<Result>
  }
  interface FastifyContextConfig {
    /** False if the route waits for the identity provider, or takes almost no work. */
    takesTurn?: false
  }
}

/** How many requests may wait, per operator and in total. A single connection can send any number by pipelining. */
const QUEUE = { concurrency: 1, perParty: 32, total: 64 }

/**
 * Handles one request at a time, taking operators in turn, and yields to the event loop after each. The process may also issue
 * tokens: a token request then waits for one step of one admin request at most.
 */
export function takeTurns(app: FastifyInstance): void {
  const turns = new WeakMap<FastifyRequest, () => void>()
  const queue = createFairQueue(QUEUE)
  app.decorate('takeTurn', (request, step) => {
    const unlimited = { perParty: Infinity, total: Infinity }
    const inTurn = () => step().finally(() => new Promise((resolve) => setImmediate(resolve)))
    return queue.run(partyOf(request), inTurn, unlimited) as ReturnType<typeof step>
  })
  app.addHook('preHandler', async (request) => {
    if (request.routeOptions.config.takesTurn === false) return
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const isQueued = queue.run(partyOf(request), () => {
      begin()
      return ended
    })
    if (!isQueued) throw new RefusedOperator('too many requests')
    await begun
    turns.set(request, end)
    if (request.socket.destroyed) throw new ProblemError('malformed', 'The connection is closed.')
  })
  // The work is done. A slow client must not hold up the others.
  app.addHook('onSend', (request, _reply, _payload, done) => {
    const end = turns.get(request)
    if (end) setImmediate(end)
    done()
  })
}

/** The operator, or the address before the sign-in. */
function partyOf({ caller, remoteAddress }: FastifyRequest): string {
  return caller?.operator.name ?? peerIn(remoteAddress)
}
