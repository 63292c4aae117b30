import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Application } from '../domain/application.ts'
import type { RefusalCode, RefusalLog } from '../domain/refusal.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { authorizationOf, bearerToken } from './wire/authorization.ts'
import { headerValue } from './wire/header-value.ts'
import { HttpRefusal, NO_STORE } from './wire/refusals.ts'

export const VERIFY_PATH = '/v1/oauth/verify'

interface VerifyRequest {
  Params: { suite?: string }
}

/**
 * The gateway check, RFC 6750: may this request, with its Authorization header, pass to that suite? Every method and
 * whatever stands behind the suite in the path is accepted, for gateways send the request on as it came.
 */
export async function verify(
  app: FastifyInstance,
  { issuer, publicUrl }: { issuer: Issuer; publicUrl: string },
): Promise<void> {
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)

  for (const url of [VERIFY_PATH, `${VERIFY_PATH}/:suite`]) {
    // The hook answers, before Fastify looks at a body, which is the suite's business; the handler is never reached.
    app.all<VerifyRequest>(url, { exposeHeadRoute: false, onRequest: answer }, answer)
  }

  /** No promise comes to see a reply, for it would wait until that is sent: 8 % of the CPU of a check. */
  function answer(request: FastifyRequest<VerifyRequest>, reply: FastifyReply): void {
    check(request).then(
      (headers) => void reply.headers(headers).send(),
      (error) => void reply.send(error),
    )
  }

  /** The headers for the gateway; throws the refusal. */
  async function check(request: FastifyRequest<VerifyRequest>): Promise<Record<string, string>> {
    const { suite } = request.params
    try {
      return await admit(request, suite)
    } catch (error) {
      // Where there is no such suite that is the answer, and not what is wrong with the token. Not asked before: an
      // application that is approved for a suite proves that it is there (3 % of the CPU of a check).
      const isRefusal = error instanceof HttpRefusal
      if (isRefusal && suite !== undefined && !(await issuer.hasSuite(suite))) {
        throw new HttpRefusal(404, 'There is no such suite')
      }
      throw error
    }
  }

  async function admit(request: FastifyRequest, suite: string | undefined): Promise<Record<string, string>> {
    const token = presentedToken(request)
    if (token === undefined) throw refusal(401, 'A token is needed')
    const checked = await issuer.checkToken(token)
    if (!('application' in checked)) {
      const log = { reason: checked.reason, token_id: checked.tokenId, client_id: checked.clientId }
      throw refusal(401, 'The token is not good', 'invalid_token', log)
    }
    const { application, tokenId, expiresAt } = checked
    if (suite !== undefined && !application.suites.includes(suite)) {
      const log = { reason: 'application not approved', suite, token_id: tokenId, client_id: application.clientId }
      throw refusal(403, 'The application is not approved for this suite', 'insufficient_scope', log)
    }

    return {
      ...NO_STORE,
      ...headersOf(application),
      'x-token-id': tokenId,
      'x-token-expires': String(Math.floor(expiresAt / 1000)),
    }
  }

  function presentedToken(request: FastifyRequest): string | undefined {
    const authorization = authorizationOf(request)
    return authorization === undefined ? undefined : bearerToken(authorization)
  }

  /** A refusal of RFC 6750 §3; without a code where there was no token. */
  function refusal(status: number, description: string, code?: RefusalCode, log?: RefusalLog): HttpRefusal {
    const challenge = `Bearer realm="${publicUrl}"${code ? `, error="${code}", error_description="${description}"` : ''}`
    return new HttpRefusal(status, description, {
      headers: { 'www-authenticate': challenge },
      ...(code ? { code } : { bare: true }),
      ...(log && { log }),
    })
  }
}

/** Made once for as long as the store holds the application: 3 % of the CPU of a check. */
const known = new WeakMap<Application, Record<string, string>>()

function headersOf(application: Application): Record<string, string> {
  let headers = known.get(application)
  if (!headers) {
    headers = {
      'x-client-id': headerValue(application.clientId),
      'x-application-name': headerValue(application.name),
      'x-developer-email': headerValue(application.developerEmail),
    }
    known.set(application, headers)
  }
  return headers
}
