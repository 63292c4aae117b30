import formbody from '@fastify/formbody'
import fastify, { type FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Issuer } from '../issuer/issuer.ts'
import { accessToken } from './access-token.ts'
import { health } from './health.ts'
import { introspect } from './introspect.ts'
import { metadata } from './metadata.ts'
import { revoke } from './revoke.ts'
import { verify } from './verify.ts'
import { drainOnClose } from './wire/connections.ts'
import { formRefusal } from './wire/form.ts'
import { answerMalformed } from './wire/malformed.ts'
import { HttpRefusal, refuse } from './wire/refusals.ts'
import { originForm, pathOf, withoutForeignPath } from './wire/target.ts'
import { answerTogether } from './wire/together.ts'

export interface AppOptions {
  issuer: Issuer
  log: Logger
  /** The proxies whose X-Forwarded-For is believed: addresses and CIDR ranges. False: nobody's. */
  trustProxy: false | string[]
  /** Where clients find this server, without a slash at the end: the issuer of RFC 8414. */
  publicUrl: string
}

const BODY_LIMIT = 8 * 1024
const REQUEST_TIMEOUT = 10_000

/** The whole HTTP surface. Listening is the caller's. */
export async function buildApp({ issuer, log, trustProxy, publicUrl }: AppOptions): Promise<FastifyInstance> {
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    requestTimeout: REQUEST_TIMEOUT,
    http: { headersTimeout: REQUEST_TIMEOUT, connectionsCheckingInterval: 1000 },
    trustProxy,
    // What is in flight when the server stops is answered as ever.
    return503OnClosing: false,
    // The endpoints write their own line a request. A logger for Fastify, even a silent one, took 5 % of the CPU of a check.
    logger: false,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    schemaErrorFormatter: formRefusal,
    frameworkErrors: (error, request, reply) => refuse(log, error, request, reply),
    clientErrorHandler: answerMalformed,
    rewriteUrl: (request) => withoutForeignPath(originForm(request.url as string)),
  })
  app.removeAllContentTypeParsers()
  await app.register(formbody)

  app.setErrorHandler((error, request, reply) => refuse(log, error, request, reply))
  // On the request and not in a not-found handler, which would come after the body was read.
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, new Set([...(methods.get(url) ?? []), method].flat()))
  })
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) throw noSuchEndpoint(methods.get(pathOf(request.url)))
    done()
  })

  // Expectations that nobody knows are passed over (RFC 9110 §10.1.1): Node.js would answer with a bare 417.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  drainOnClose(app)
  answerTogether(app)

  accessToken(app, { issuer, log })
  introspect(app, { issuer, log, publicUrl })
  revoke(app, { issuer, log })
  await app.register(verify, { issuer, publicUrl })
  metadata(app, { publicUrl })
  health(app, { issuer })
  return app
}

function noSuchEndpoint(allowed: Set<string> | undefined): HttpRefusal {
  if (!allowed) return new HttpRefusal(404, 'There is no such endpoint')
  return new HttpRefusal(405, 'The method is not allowed here', { headers: { allow: [...allowed].join(', ') } })
}
