import fastify, { type FastifyInstance } from 'fastify'
import { requestIdOf } from '../domain/request-id.ts'
import { serverOptions } from '../listener/answer.ts'
import { originForm } from '../listener/pipeline.ts'
import { protect } from '../listener/protect.ts'
import { adminApi } from './api/api.ts'
import { adminConsole } from './console/console.ts'
import type { AdminContext } from './context.ts'
import { limitAccess } from './wire/access.ts'
import { decorateRequests } from './wire/caller.ts'
import { createHostCheck } from './wire/host.ts'
import { ANSWER_HEADERS, answerMalformed, reportError, sendProblem } from './wire/problem.ts'
import { refuseUnstorable } from './wire/routing.ts'
import { takeTurns } from './wire/turns.ts'

const BODY_LIMIT = 64 * 1024

/** Enough for the few operators there are: an open overview uses one connection. */
const MAX_CONNECTIONS = 64

/** How long a request may take to arrive, headers and body. */
const REQUEST_TIMEOUT_MS = 10_000

/** How long a connection may be idle: while a request is being handled, and between two requests. */
const IDLE_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 5000

/** How long pending responses may take when the server closes. */
const CLOSE_MS = 250

/** Fits the longest client id with every character percent-encoded. */
const MAX_PARAM_LENGTH = 1024

/** Builds the app of the admin listener: the API under /admin/v1, and the console everywhere else. */
export async function buildAdminApp(context: AdminContext): Promise<FastifyInstance> {
  const { observe, trustProxy } = context
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: serverOptions(REQUEST_TIMEOUT_MS),
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
  const drain = protect(app.server, {
    observe,
    listener: 'admin',
    answerMalformed,
    drainTimeout: CLOSE_MS,
    limits: { total: MAX_CONNECTIONS },
  })
  app.addHook('preClose', async () => drain())
  app.removeAllContentTypeParsers()
  app.setErrorHandler((error, request, reply) => sendProblem(reply, reportError(observe, error, request)))

  decorateRequests(app, context)
  const assertHost = createHostCheck(context)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ ...ANSWER_HEADERS, 'x-request-id': request.id })
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
