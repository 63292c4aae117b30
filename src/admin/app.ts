import fastify, { type FastifyInstance } from 'fastify'
import { requestIdOf } from '../domain/request-id.ts'
import { COUNTED } from '../listener/answer.ts'
import { malformedReason } from '../listener/malformed.ts'
import { originForm } from '../listener/pipeline.ts'
import { protect } from '../listener/protect.ts'
import { adminApi } from './api/api.ts'
import { adminConsole } from './console/console.ts'
import type { AdminContext } from './context.ts'
import { limitAccess } from './wire/access.ts'
import { decorateRequests } from './wire/caller.ts'
import { ANSWER_HEADERS } from './wire/headers.ts'
import { createHostCheck } from './wire/host.ts'
import { answerMalformed, reportError, sendProblem } from './wire/problem.ts'
import { refuseUnstorable } from './wire/storable.ts'
import { takeTurns } from './wire/turns.ts'

const BODY_LIMIT = 64 * 1024

/** Operators are few. An open overview has one connection. */
const MAX_CONNECTIONS = 64

/** How long a request may take to arrive, headers and body. */
const REQUEST_TIMEOUT_MS = 10_000

/** How long a connection may be idle: while a request is being handled, and between two requests. */
const IDLE_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 5000

/** How long open connections get when the server closes. */
const CLOSE_MS = 250

/** Fits the longest client id with every character percent-encoded. */
const MAX_PARAM_LENGTH = 1024

/**
 * Builds the app of the admin listener: the API under /admin/v1, and the console everywhere else. The caller makes it listen.
 * There are no CORS headers, so pages of other sites cannot read its answers.
 */
export async function buildAdminApp(context: AdminContext): Promise<FastifyInstance> {
  const { observe, trustProxy } = context
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: {
      ...COUNTED,
      headersTimeout: REQUEST_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
      requireHostHeader: false,
    },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    trustProxy,
    return503OnClosing: false,
    logger: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: true } },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...ANSWER_HEADERS, 'x-request-id': request.id })
      sendProblem(reply, reportError(observe, error, request))
    },
    clientErrorHandler: (error, socket) => answerMalformed(malformedReason(error), socket),
    genReqId: ({ headers }) => requestIdOf(headers),
    rewriteUrl: ({ url = '' }) => originForm(url),
  })
  const { drain, end } = protect(app.server, {
    observe,
    listener: 'admin',
    answerMalformed,
    drainTimeout: CLOSE_MS,
    limits: { total: MAX_CONNECTIONS },
  })
  app.addHook('preClose', async () => drain())
  app.addHook('onClose', async () => end())
  app.removeAllContentTypeParsers()
  app.setErrorHandler((error, request, reply) => sendProblem(reply, reportError(observe, error, request)))

  decorateRequests(app)
  const assertHost = createHostCheck(context)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers({ ...ANSWER_HEADERS, 'x-request-id': request.id })
    assertHost(request)
    done()
  })
  limitAccess(app)
  takeTurns(app, { except: ['/live'] })
  refuseUnstorable(app)
  await app.register(async (api) => adminApi(api, context), { prefix: '/admin/v1' })
  await app.register(async (console) => adminConsole(console, context))
  return app
}
