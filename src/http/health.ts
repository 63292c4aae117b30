import type { FastifyInstance } from 'fastify'
import type { Issuer } from '../issuer/issuer.ts'

export const READY_PATH = '/health/ready'

/** Live: the process answers. Ready: the store can be used, too; 503 where it cannot. */
export function health(app: FastifyInstance, { issuer }: { issuer: Issuer }): void {
  app.get('/health/live', async () => ({ status: 'ok' }))

  app.get(READY_PATH, async () => {
    await issuer.ready()
    return { status: 'ok' }
  })
}
