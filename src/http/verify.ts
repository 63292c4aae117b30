import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../domain/application.ts'
import { CHECK_REASONS, type ErrorAnswer } from '../domain/reasons.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { ActiveToken, Verdict } from '../issuer/check.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { bearerToken } from './wire/authorization.ts'
import { type CheckOptions, reportPassed, reportRefused } from './wire/checks.ts'
import { sendError } from './wire/refuse.ts'

/** Where gateways ask; what they append behind the suite is cut off before the request is routed. */
export const VERIFY_PATH = '/v1/oauth/verify'

/**
 * The target of a gateway check without what the gateway appended behind the suite: the path and the query of the request
 * that it asks about, which may be as malformed as anybody likes. Other targets stay as they are.
 */
export function withoutForeignPath(target: string): string {
  if (!target.startsWith(VERIFY_PATH)) return target
  return /^(\/v1\/oauth\/verify(?:\/[^/?#]*)?)(?:[/?#].*)?$/.exec(target)?.[1] ?? target
}

interface VerifyRequest {
  Params: { suite?: string }
}

/**
 * The gateway check, RFC 6750: may this request, with its Authorization header, pass to that suite? Every method is
 * accepted, and whatever stands behind the suite in the path, for gateways send the request on as it came.
 */
export function verify(app: FastifyInstance, options: CheckOptions): void {
  const answers = createAnswers(options.publicUrl)

  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)

  for (const url of [VERIFY_PATH, `${VERIFY_PATH}/:suite`]) {
    // The hook answers, before Fastify looks at a body, which is the suite's business; the handler is never reached.
    app.all<VerifyRequest>(url, { exposeHeadRoute: false, onRequest: handle }, handle)
  }

  /** Returns no promise: Fastify would wait until the reply is sent, which is expensive (docs/performance). */
  function handle(request: FastifyRequest<VerifyRequest>, reply: FastifyReply): void {
    decide(options.issuer, bearerToken(request), request.params.suite)
      .then((verdict) => answer(verdict, request, reply))
      .catch((error) => void reply.send(error))
  }

  function answer(verdict: Verdict, request: FastifyRequest<VerifyRequest>, reply: FastifyReply): void {
    const { suite } = request.params
    if (verdict.kind === 'active') {
      answers.pass(verdict, reply)
      reportPassed(options, verdict, suite, request)
      return
    }
    reportRefused(options, verdict, suite, request.routeOptions.url, request)
    const { kind, reason } = verdict
    if (kind === 'no such suite') sendError(reply, CHECK_REASONS[reason])
    else if (reason === 'no token') answers.demandToken(reply)
    else answers.refuse(CHECK_REASONS[reason], reply)
  }
}

/** An unknown suite comes before whatever is wrong with the Authorization header, which may be malformed itself. */
function decide(
  issuer: Issuer,
  token: string | undefined | RequestRefused,
  suite: string | undefined,
): Promise<Verdict> {
  return token instanceof RequestRefused ? refuseHeader(issuer, token, suite) : issuer.check(token, { suite })
}

async function refuseHeader(issuer: Issuer, { reason }: RequestRefused, suite: string | undefined): Promise<Verdict> {
  if (suite === undefined || (await issuer.hasSuite(suite))) throw new RequestRefused(reason, { suite })
  return { kind: 'no such suite', reason: 'no such suite' }
}

/** What gateways are answered, RFC 6750 §3. */
function createAnswers(publicUrl: string) {
  const challenge = `Bearer realm="${publicUrl}"`
  const clientHeaders = createClientHeaders()

  return {
    pass({ application, tokenId, expiresAt }: ActiveToken, reply: FastifyReply): void {
      reply.headers(clientHeaders(application))
      reply.header('x-token-id', tokenId).header('x-token-expires', String(Math.floor(expiresAt / 1000)))
      reply.send()
    },

    /** §3.1: a request without a token is told no error. */
    demandToken(reply: FastifyReply): void {
      reply.code(401).header('www-authenticate', challenge).send()
    },

    refuse(error: ErrorAnswer, reply: FastifyReply): void {
      const { code, description } = error
      reply.header('www-authenticate', `${challenge}, error="${code}", error_description="${description}"`)
      sendError(reply, error)
    },
  }
}

/** The headers that name an application. Made once per object: the store caches applications (docs/performance). */
function createClientHeaders(): (application: Application) => Record<string, string> {
  const made = new WeakMap<Application, Record<string, string>>()
  return (application) => {
    let headers = made.get(application)
    if (!headers) {
      headers = {
        'x-client-id': headerValue(application.clientId),
        'x-application-name': headerValue(application.name),
        'x-developer-email': headerValue(application.developerEmail),
      }
      made.set(application, headers)
    }
    return headers
  }
}

/**
 * Any text as a legal header value: printable ASCII as it is, and the rest, a space and a percent sign too,
 * percent-encoded UTF-8 (RFC 3986 §2.1). `decodeURIComponent` gives the text back.
 */
export function headerValue(text: string): string {
  return text.replace(/[^\x21-\x24\x26-\x7e]+/g, encodeURIComponent)
}
