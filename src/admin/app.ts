import fastify, { type FastifyInstance } from 'fastify'
import { requestIdOf } from '../domain/request-id.ts'
import { adminApi } from './api/api.ts'
import { adminConsole } from './console/console.ts'
import type { AdminContext } from './context.ts'
import { limitAccess } from './wire/access.ts'
import { describeCallers } from './wire/caller.ts'
import { ANSWER_HEADERS } from './wire/headers.ts'
import { createHostCheck, originForm } from './wire/host.ts'
import { createMalformedAnswers } from './wire/malformed.ts'
import { sendProblem } from './wire/problem.ts'
import { settle } from './wire/settle.ts'
import { refuseUnstorable } from './wire/storable.ts'
import { takeTurns } from './wire/turns.ts'

const BODY_LIMIT = 64 * 1024

/** Few ask. An event stream is one of them for as long as a page is open. */
const MAX_CONNECTIONS = 64

/** How long a request may take to arrive. */
const REQUEST_TIMEOUT_MS = 10_000

/** How long nothing may move on a connection while an answer is under way, and while none is. */
const IDLE_TIMEOUT_MS = 60_000
const KEEP_ALIVE_MS = 5000

/** How long answers may take when the server ends. Event streams would take for ever. */
const CLOSE_MS = 250

/** The longest client id that there may be, when all of it is percent-encoded. */
const MAX_PARAM_LENGTH = 1024

/**
 * The whole admin listener: the API under /admin/v1, and the console, which is all the rest. Listening is the caller's. It
 * has no CORS: no page of another site may read an answer of it.
 */
export async function buildAdminApp(context: AdminContext): Promise<FastifyInstance> {
  const { observe, trustProxy } = context
  const malformed = createMalformedAnswers()
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: IDLE_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { headersTimeout: REQUEST_TIMEOUT_MS, connectionsCheckingInterval: 1000, requireHostHeader: false },
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    trustProxy,
    return503OnClosing: false,
    logger: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false, allErrors: true } },
    frameworkErrors: (error, request, reply) => {
      reply.headers({ ...ANSWER_HEADERS, 'x-request-id': request.id })
      sendProblem(reply, settle(observe, error, request))
    },
    clientErrorHandler: (error, socket) => malformed.answer(error, socket),
    genReqId: ({ headers }) => requestIdOf(headers),
    rewriteUrl: ({ url = '' }) => originForm(url),
  })
  Object.assign(app.server, { maxConnections: MAX_CONNECTIONS, dropMaxConnection: true })
  malformed.watch(app)
  app.addHook('preClose', async () => void setTimeout(() => app.server.closeAllConnections(), CLOSE_MS))
  app.removeAllContentTypeParsers()
  app.setErrorHandler((error, request, reply) => sendProblem(reply, settle(observe, error, request)))

  describeCallers(app)
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
