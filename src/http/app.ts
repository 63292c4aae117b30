import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import formbody from '@fastify/formbody'
import fastify, { type FastifyInstance } from 'fastify'
import { requestIdOf } from '../domain/request-id.ts'
import { serverOptions } from '../listener/answer.ts'
import { originForm } from '../listener/pipeline.ts'
import { protect } from '../listener/protect.ts'
import type { Tls } from '../listener/tls.ts'
import { accessToken } from './access-token.ts'
import { handOver } from './hand-over.ts'
import { INTROSPECT_PATH, introspect } from './introspect.ts'
import { authorize, health, metadata, resourceMetadata } from './metadata.ts'
import { revoke } from './revoke.ts'
import { VERIFY_PATH, verify, withoutForeignPath } from './verify.ts'
import type { CheckOptions } from './wire/checks.ts'
import { BODY_LIMIT, type ClientOptions } from './wire/form.ts'
import { createLateAnswers, type Later } from './wire/late-answers.ts'
import { measuredAnswer, measureRequests } from './wire/measured-answers.ts'
import type { Proxies } from './wire/proxies.ts'
import { ANSWER_HEADERS, createMalformedAnswers, refuse } from './wire/refuse.ts'
import { assertRoutes, assertTarget, sendRequestId } from './wire/request.ts'

export interface AppOptions extends CheckOptions, ClientOptions {
  /** Kept up to date with the open connections. */
  connections?: Set<Socket> | undefined
  proxies: Proxies
  /** The proxies whose X-Forwarded-For is trusted: addresses and CIDR ranges; false for none. */
  trustProxy: false | string[]
  /** How many connections one address prefix may have; Infinity: connections are not limited. */
  connectionLimit: number
  /** Where suites reach introspection. */
  introspectionUrl: string
  tls?: (() => Tls) | undefined
  /** The documentation for developers: the service_documentation of RFC 8414. */
  docsUrl?: string | undefined
  /** How long a request may take to arrive, in milliseconds. */
  requestTimeout?: number
  /** The timer that delays answers of 429. */
  later?: Later
}

const REQUEST_TIMEOUT_MS = 10_000

/** Where a POST writes nothing. Gateways send checks with the method of the original request. */
const CHECKS = [INTROSPECT_PATH, VERIFY_PATH]

/** Routes check their forms themselves: Ajv and the serializers that Fastify would load take time and memory at the start. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: assert.fail, buildSerializer: assert.fail } }

/** Builds the app of the public port. The caller calls `listen`. */
export async function buildApp(options: AppOptions): Promise<FastifyInstance> {
  const { issuer, observe, measure, connections, proxies, trustProxy, connectionLimit, tls } = options
  const { requestTimeout = REQUEST_TIMEOUT_MS, later } = options
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout,
    http: { ...serverOptions(requestTimeout), ...(measure && { ServerResponse: measuredAnswer(measure) }) },
    trustProxy,
    // Requests in flight when the server closes are answered normally.
    return503OnClosing: false,
    // Fastify's own logger, even a silent one, is expensive (docs/adr/0011). Observers log events.
    logger: false,
    schemaController: NO_SCHEMAS,
    frameworkErrors: (error, request, reply) => refuse({ observe, issuer }, error, request, reply),
    genReqId: ({ headers }) => requestIdOf(headers),
    rewriteUrl: (request) => withoutForeignPath(originForm(request.url as string)),
  })
  app.removeAllContentTypeParsers()
  await app.register(formbody)

  const late = createLateAnswers({ isShared: proxies.isShared, later })
  app.addHook('preClose', async () => late.sendAll())
  app.setErrorHandler((error, request, reply) => refuse({ observe, issuer, late }, error, request, reply))
  const drain = protect(app.server, {
    observe,
    measure,
    answerMalformed: createMalformedAnswers({ observe, measure }),
    connections,
    tls,
    writes: ({ method, url = '' }) => method === 'POST' && !CHECKS.some((path) => originForm(url).startsWith(path)),
    isBusy: issuer.isBusy,
    limits: connectionLimit === Infinity ? undefined : { perPrefix: connectionLimit, ...proxies },
  })
  app.addHook('preClose', async () => drain())
  const assertRoute = assertRoutes(app)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(ANSWER_HEADERS)
    sendRequestId(request, reply)
    if (request.headers['x-forwarded-for'] !== undefined) proxies.notice(String(request.socket.remoteAddress))
    assertTarget(request.raw)
    assertRoute(request)
    done()
  })
  if (measure) measureRequests(app)

  accessToken(app, options)
  introspect(app, options)
  revoke(app, options)
  verify(app, options)
  metadata(app, options)
  authorize(app)
  resourceMetadata(app, options)
  health(app, options)
  if (issuer.handOver) handOver(app, issuer.handOver, options)
  return app
}
