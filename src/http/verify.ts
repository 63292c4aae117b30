import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../domain/application.ts'
import { CHECK_PASSED, type Observer } from '../domain/events.ts'
import { CHECK_REASONS, type ErrorAnswer } from '../domain/reasons.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { ActiveToken, Verdict } from '../issuer/check.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { bearerToken } from './wire/authorization.ts'
import { headerValue } from './wire/header-value.ts'
import { sendError } from './wire/refuse.ts'
import { askedBy, askedFor } from './wire/request.ts'
import { VERIFY_PATH } from './wire/target.ts'

interface VerifyRequest {
  Params: { suite?: string }
}

/**
 * The gateway check, RFC 6750: may this request, with its Authorization header, pass to that suite? Every method is
 * accepted, and whatever stands behind the suite in the path, for gateways send the request on as it came.
 */
export function verify(
  app: FastifyInstance,
  {
    issuer,
    observe,
    observeDetails,
    measure,
    publicUrl,
  }: {
    issuer: Issuer
    observe: Observer
    observeDetails?: Observer | undefined
    measure?: Observer | undefined
    publicUrl: string
  },
): void {
  const challenge = `Bearer realm="${publicUrl}"`
  const clientHeaders = createClientHeaders()

  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)

  for (const url of [VERIFY_PATH, `${VERIFY_PATH}/:suite`]) {
    // The hook answers, before Fastify looks at a body, which is the suite's business; the handler is never reached.
    app.all<VerifyRequest>(url, { exposeHeadRoute: false, onRequest: handle }, handle)
  }

  /** Returns no promise: Fastify would wait until the reply is sent, which is expensive (docs/performance). */
  function handle(request: FastifyRequest<VerifyRequest>, reply: FastifyReply): void {
    decide(request)
      .then((verdict) => answer(verdict, request, reply))
      .catch((error) => void reply.send(error))
  }

  async function decide(request: FastifyRequest<VerifyRequest>): Promise<Verdict> {
    const token = bearerToken(request)
    const isMalformed = token instanceof RequestRefused
    const verdict = await issuer.check(isMalformed ? undefined : token, { suite: request.params.suite })
    if (isMalformed && verdict.kind !== 'no such suite') {
      token.details.suite = request.params.suite
      throw token
    }
    return verdict
  }

  function answer(verdict: Verdict, request: FastifyRequest<VerifyRequest>, reply: FastifyReply): void {
    if (verdict.kind === 'active') {
      pass(verdict, reply)
      const { application, tokenId } = verdict
      const { clientId } = application
      const { suite } = request.params
      measure?.(CHECK_PASSED)
      observeDetails?.({ type: 'token accepted', suite, clientId, tokenId, ...askedBy(request) })
      return
    }
    const { reason, tokenId, clientId } = verdict
    // What is no suite's id may be any text, even a token in the wrong place.
    const suite = verdict.kind === 'no such suite' ? undefined : request.params.suite
    const asked = askedFor(request, verdict.kind === 'no such suite' ? undefined : request.routeOptions.url)
    observe({ type: 'token refused', reason, suite, clientId, tokenId, ...asked })
    if (verdict.kind === 'no such suite') sendError(reply, CHECK_REASONS[reason])
    else if (reason === 'no token') demandToken(reply)
    else refuse(CHECK_REASONS[reason], reply)
  }

  function pass({ application, tokenId, expiresAt }: ActiveToken, reply: FastifyReply): void {
    reply.headers(clientHeaders(application))
    reply.header('x-token-id', tokenId).header('x-token-expires', String(Math.floor(expiresAt / 1000)))
    reply.send()
  }

  /** RFC 6750 §3.1: a request without a token is told no error. */
  function demandToken(reply: FastifyReply): void {
    reply.code(401).header('www-authenticate', challenge).send()
  }

  function refuse(error: ErrorAnswer, reply: FastifyReply): void {
    const { code, description } = error
    reply.header('www-authenticate', `${challenge}, error="${code}", error_description="${description}"`)
    sendError(reply, error)
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
