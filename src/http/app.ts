import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import formbody from '@fastify/formbody'
import fastify, { type FastifyInstance } from 'fastify'
import type { Observer } from '../domain/events.ts'
import { requestIdOf } from '../domain/request-id.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { COUNTED } from '../listener/answer.ts'
import { originForm } from '../listener/framing.ts'
import { type MalformedReason, malformedReason } from '../listener/malformed.ts'
import { protect } from '../listener/protect.ts'
import { accessToken } from './access-token.ts'
import { introspect } from './introspect.ts'
import { health, metadata } from './metadata.ts'
import { revoke } from './revoke.ts'
import { verify } from './verify.ts'
import { BODY_LIMIT, formRefusal } from './wire/form.ts'
import { createLateAnswers, type Later } from './wire/late-answers.ts'
import { answerMalformed } from './wire/malformed.ts'
import { measuredAnswer, measureRequests } from './wire/measured-answers.ts'
import type { Proxies } from './wire/proxies.ts'
import { ANSWER_HEADERS, refuse } from './wire/refuse.ts'
import { tellRequestId } from './wire/request.ts'
import { assertTarget, refuseUnknownRoutes, withoutForeignPath } from './wire/target.ts'

export interface AppOptions {
  issuer: Issuer
  observe: Observer
  /** For every check that ends with yes. */
  observeDetails?: Observer | undefined
  /** For what is only counted. */
  measure?: Observer | undefined
  /** Is given the connections that are open. */
  connections?: Set<Socket> | undefined
  proxies: Proxies
  /** The proxies whose X-Forwarded-For is trusted: addresses and CIDR ranges. False: none. */
  trustProxy: false | string[]
  /** How many connections one address prefix may have; Infinity: no limits on connections. */
  connectionLimit: number
  /** Where clients find this server, without a slash at the end: the issuer of RFC 8414. */
  publicUrl: string
  /** Where people read about this server, if anywhere: the service_documentation of RFC 8414. */
  docsUrl?: string | undefined
  /** How long a request may take to arrive, in milliseconds. */
  requestTimeout?: number
  /** What the answers to what is refused for its number wait for. */
  later?: Later
}

const REQUEST_TIMEOUT_MS = 10_000

/** How often requests that arrive are looked at in that time. */
const LOOKS = 10

/** The whole public port. Listening is the caller's. */
export async function buildApp({
  issuer,
  observe,
  observeDetails,
  measure,
  connections,
  proxies,
  trustProxy,
  connectionLimit,
  publicUrl,
  docsUrl,
  requestTimeout = REQUEST_TIMEOUT_MS,
  later,
}: AppOptions): Promise<FastifyInstance> {
  const answerInvalid = (reason: MalformedReason, socket: Socket, request?: IncomingMessage) =>
    answerMalformed({ observe, measure }, reason, socket, request)
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout,
    http: {
      ...COUNTED,
      ...(measure && { ServerResponse: measuredAnswer(measure) }),
      headersTimeout: requestTimeout,
      connectionsCheckingInterval: requestTimeout / LOOKS,
      // Node.js would answer with a bare 400.
      requireHostHeader: false,
    },
    trustProxy,
    // Requests that are in flight when the server closes are answered as always.
    return503OnClosing: false,
    // What happens is said as events. Fastify's own logger, even a silent one, is expensive (docs/adr/0011).
    logger: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    schemaErrorFormatter: formRefusal,
    frameworkErrors: (error, request, reply) => refuse({ observe, issuer }, error, request, reply),
    clientErrorHandler: (error, socket) => answerInvalid(malformedReason(error), socket),
    genReqId: ({ headers }) => requestIdOf(headers),
    rewriteUrl: (request) => withoutForeignPath(originForm(request.url as string)),
  })
  app.removeAllContentTypeParsers()
  await app.register(formbody)

  const late = createLateAnswers({ isShared: proxies.isShared, later })
  app.addHook('preClose', async () => late.giveAll())
  app.setErrorHandler((error, request, reply) => refuse({ observe, issuer, late }, error, request, reply))
  const { drain, end } = protect(app.server, {
    observe,
    measure,
    answerMalformed: answerInvalid,
    connections,
    limits: connectionLimit === Infinity ? undefined : { perPrefix: connectionLimit, isShared: proxies.isShared },
  })
  app.addHook('preClose', async () => drain())
  app.addHook('onClose', async () => end())
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(ANSWER_HEADERS)
    tellRequestId(request, reply)
    if (request.headers['x-forwarded-for'] !== undefined) proxies.notice(String(request.socket.remoteAddress))
    assertTarget(request.raw)
    done()
  })
  refuseUnknownRoutes(app)
  if (measure) measureRequests(app)

  accessToken(app, { issuer, observe })
  introspect(app, { issuer, observe, observeDetails, measure, publicUrl })
  revoke(app, { issuer, observe })
  verify(app, { issuer, observe, observeDetails, measure, publicUrl })
  metadata(app, { publicUrl, docsUrl })
  health(app, { issuer })
  return app
}
