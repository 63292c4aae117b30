import formbody from '@fastify/formbody'
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import type { Logger } from 'pino'
import { accessToken } from './http/access-token.ts'
import { formRefusal } from './http/form.ts'
import { health } from './http/health.ts'
import { introspect } from './http/introspect.ts'
import { answerMalformed } from './http/malformed.ts'
import { metadata } from './http/metadata.ts'
import { HttpRefusal, refuse } from './http/refusals.ts'
import { revoke } from './http/revoke.ts'
import { verify, withoutForeignPath } from './http/verify.ts'
import type { Issuer } from './issuer/issuer.ts'

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
    trustProxy,
    // What is in flight when the server stops is answered as ever.
    return503OnClosing: false,
    // The endpoints write their own line a request; from Fastify itself only warnings, and no child logger a request.
    loggerInstance: log.child({}, { level: 'warn' }) as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    childLoggerFactory: (logger) => logger,
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false, useDefaults: false } },
    schemaErrorFormatter: formRefusal,
    frameworkErrors: (error, request, reply) => refuse(log, error, request, reply),
    clientErrorHandler: answerMalformed,
    rewriteUrl: (request) => withoutForeignPath(request.url as string),
  })
  app.removeAllContentTypeParsers()
  await app.register(formbody)

  app.setErrorHandler((error, request, reply) => refuse(log, error, request, reply))
  // On the request and not in a not-found handler, which would come after the body was read.
  app.addHook('onRequest', async (request) => {
    if (request.is404) throw noSuchEndpoint(app, request.url)
  })

  accessToken(app, { issuer, log })
  introspect(app, { issuer, log, publicUrl })
  revoke(app, { issuer, log })
  await app.register(verify, { issuer, publicUrl })
  metadata(app, { publicUrl })
  health(app, { issuer })
  return app
}

function noSuchEndpoint(app: FastifyInstance, target: string): HttpRefusal {
  const url = target.split('?', 1)[0] as string
  const allowed = ['GET', 'HEAD', 'POST'].filter((method) => app.hasRoute({ method, url }))
  if (allowed.length === 0) return new HttpRefusal(404, 'There is no such endpoint')
  return new HttpRefusal(405, 'The method is not allowed here', { headers: { allow: allowed.join(', ') } })
}
