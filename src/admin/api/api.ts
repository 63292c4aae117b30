import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SignIn } from '../../administration/sign-in.ts'
import type { AdminContext } from '../context.ts'
import { isSafe } from '../wire/access.ts'
import { setCaller } from '../wire/caller.ts'
import { ProblemError, RefusedOperator } from '../wire/problem.ts'
import { createNotFoundHandler } from '../wire/routing.ts'
import { applications } from './applications.ts'
import { exports } from './export.ts'
import { federated } from './federated.ts'
import { operators } from './operators.ts'
import { query } from './query.ts'
import { createRoutes } from './routes.ts'
import { secrets } from './secrets.ts'
import { statistics, usage } from './statistics.ts'
import { suites } from './suites.ts'
import { auditEvents, refusals } from './trails.ts'

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
  const addRoute = createRoutes(api, context)
  for (const resource of [applications, secrets, federated, suites, usage, exports, operators, auditEvents, refusals])
    resource(addRoute)
  statistics(api, context)
}

/**
 * Requires an admin key (RFC 6750 §2.1) before the body is read. Checks it again before a change: the operator may have been
 * removed while the body arrived.
 */
function authenticateKeys(api: FastifyInstance, { authenticate }: SignIn): void {
  async function identify(request: FastifyRequest): Promise<void> {
    const { authorization } = request.headers
    if (authorization === undefined) throw new RefusedOperator('no credentials')
    const [, adminKey] = /^bearer +(\S+) *$/i.exec(authorization) ?? []
    if (adminKey === undefined) throw new RefusedOperator('malformed key')
    const signedIn = await authenticate(adminKey)
    if ('reason' in signedIn) throw new RefusedOperator(signedIn.reason, signedIn)
    setCaller(request, { operator: signedIn.operator, origin: 'API', credential: adminKey })
  }

  api.addHook('onRequest', identify)
  api.addHook('preHandler', async (request) => {
    if (!isSafe(request.method)) await identify(request)
  })
}

/**
 * Parses JSON bodies. An empty one counts as no body, because many clients send a Content-Type even without one. Objects with
 * `__proto__` or `constructor` keys are refused, and bodies that are not UTF-8 (RFC 8259 §8.1).
 */
function parseJson(api: FastifyInstance): void {
  const parse = api.getDefaultJsonParser('error', 'error')
  api.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) done(null, undefined)
    else if (isUtf8(body)) parse(request, body.toString(), done)
    else done(new ProblemError('malformed', 'The body is not valid JSON: it is not UTF-8.'))
  })
}
