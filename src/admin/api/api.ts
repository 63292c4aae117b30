import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { watchRoutes } from '../wire/routing.ts'
import { authenticateKeys } from './authenticate.ts'
import { statistics } from './statistics.ts'

/** The administration API, under /admin/v1: JSON, for who has an admin key. */
export function adminApi(api: FastifyInstance, context: AdminContext): void {
  const refuseUnknown = watchRoutes(api)
  authenticateKeys(api, context.signIn)
  api.addContentTypeParser('application/json', { parseAs: 'string' }, api.getDefaultJsonParser('error', 'error'))
  api.setNotFoundHandler(refuseUnknown)

  statistics(api, context)
}
