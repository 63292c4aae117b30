import type { FastifyInstance } from 'fastify'
import type { Issuer } from '../issuer/issuer.ts'
import { NO_STORE } from './wire/refusals.ts'

export const READY_PATH = '/health/ready'

/** Live: the process answers. Ready: the store can be read too; 503 where it cannot. */
export function health(app: FastifyInstance, { issuer }: { issuer: Issuer }): void {
  app.get('/health/live', async (_request, reply) => {
    reply.headers(NO_STORE)
    return { status: 'ok' }
  })

  app.get(READY_PATH, async (_request, reply) => {
    await issuer.checkReady()
    reply.headers(NO_STORE)
    return { status: 'ok' }
  })
}
