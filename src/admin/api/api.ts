import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { createNotFoundHandler } from '../wire/routing.ts'
import { applications } from './applications.ts'
import { auditEvents } from './audit-events.ts'
import { authenticateKeys } from './authenticate.ts'
import { operators } from './operators.ts'
import { query } from './schemas.ts'
import { secrets } from './secrets.ts'
import { statistics } from './statistics.ts'
import { suites } from './suites.ts'

const RESOURCES = [applications, secrets, suites, operators, auditEvents, statistics]

/** The administration API under /admin/v1: JSON, authenticated by admin keys. */
export function adminApi(api: FastifyInstance, context: AdminContext): void {
  const refuseUnknown = createNotFoundHandler(api)
  authenticateKeys(api, context.signIn)
  parseJson(api)
  api.setNotFoundHandler(refuseUnknown)
  // Unknown query parameters are refused, not ignored.
  api.addHook('onRoute', (route) => {
    route.schema = { querystring: query(), ...route.schema }
  })
  for (const resource of RESOURCES) resource(api, context)
}

/**
 * Parses JSON bodies. An empty one counts as no body, because many clients send a Content-Type even without one. Objects with
 * `__proto__` or `constructor` keys are refused.
 */
function parseJson(api: FastifyInstance): void {
  const parse = api.getDefaultJsonParser('error', 'error')
  api.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else parse(request, body, done)
  })
}
