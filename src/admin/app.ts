import fastify, { type FastifyInstance } from 'fastify'
import { requestIdOf } from '../domain/request-id.ts'
import { originForm } from '../listener/pipeline.ts'
import { adminApi } from './api/api.ts'
import { adminConsole } from './console/console.ts'
import type { AdminContext } from './context.ts'
import type { AdminServer } from './server.ts'
import { limitAccess } from './wire/access.ts'
import { decorateRequests } from './wire/caller.ts'
import { createHostCheck, isEncrypted, isProxied } from './wire/host.ts'
import { ANSWER_HEADERS, reportError, sendProblem } from './wire/problem.ts'
import { refuseUnstorable } from './wire/routing.ts'
import { takeTurns } from './wire/turns.ts'

const BODY_LIMIT = 64 * 1024

/** Fits the longest client id with every character percent-encoded. */
const MAX_PARAM_LENGTH = 1024

/** Builds the app of the admin listener: the API under /admin/v1, and the console everywhere else. It closes the server. */
export async function buildAdminApp(
  context: AdminContext,
  { server, close }: Pick<AdminServer, 'server' | 'close'>,
): Promise<FastifyInstance> {
  const { observe, trustProxy, adminUrl } = context
  const app = fastify({
    serverFactory: () => server,
    // The server has a handler of its own.
    clientErrorHandler: () => {},
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    trustProxy,
    return503OnClosing: false,
    logger: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: true } },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...ANSWER_HEADERS, 'x-request-id': request.id })
      sendProblem(reply, reportError(observe, error, request))
    },
    genReqId: ({ headers }) => requestIdOf(headers),
    rewriteUrl: ({ url = '' }) => originForm(url),
  })
  app.addHook('preClose', close)
  app.removeAllContentTypeParsers()
  app.setErrorHandler((error, request, reply) => sendProblem(reply, reportError(observe, error, request)))

  decorateRequests(app, context)
  const assertHost = createHostCheck(context)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ ...ANSWER_HEADERS, 'x-request-id': request.id })
    // Not for names of this machine, whose other ports may speak plain HTTP.
    if (isEncrypted(request) && isProxied(request, adminUrl))
      reply.header('strict-transport-security', 'max-age=31536000')
    assertHost(request)
    done()
  })
  limitAccess(app)
  takeTurns(app)
  refuseUnstorable(app)
  await app.register(async (api) => adminApi(api, context), { prefix: '/admin/v1' })
  await app.register(async (console) => adminConsole(console, context))
  return app
}
