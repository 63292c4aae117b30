import type { FastifyInstance, FastifyRequest } from 'fastify'
import { publicLabelsOf } from '../domain/application.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { Credentials } from '../issuer/authenticate.ts'
import { credentialsInHeader } from './wire/authorization.ts'
import { type CheckOptions, reportCheck } from './wire/checks.ts'
import { type Form, formsOnly, readForm } from './wire/form.ts'
import { remoteAddressOf } from './wire/request.ts'

export const INTROSPECT_PATH = '/v1/oauth/introspect'

/** The WWW-Authenticate header of its 401s, RFC 9110 §11.6.1. */
const config = { challenge: 'Basic realm="suites", charset="UTF-8"' }

/** Introspection for suites, RFC 7662. The answer for every token that is not valid is `{"active":false}`. */
export function introspect(app: FastifyInstance, options: CheckOptions): void {
  const { issuer, publicUrl } = options

  app.post(INTROSPECT_PATH, { config, onRequest: formsOnly }, async (request) => {
    const form = readForm(request, [])
    const { client: suite } = await issuer.authenticateSuite(credentialsOf(request, form), remoteAddressOf(request))
    const { token } = form
    if (!token) throw new RequestRefused('field missing', { field: 'token', isKnownField: true, suite: suite.suiteId })

    const verdict = await issuer.check(token, { suite: suite.suiteId })
    reportCheck(options, verdict, suite.suiteId, request)
    if (verdict.kind !== 'active') return { active: false }
    const { application, tokenId, audience, issuedAt, expiresAt } = verdict
    return {
      active: true,
      client_id: application.clientId,
      sub: application.clientId,
      aud: (audience !== null && suite.url) || suite.suiteId,
      iss: publicUrl,
      jti: tokenId,
      token_type: 'bearer',
      iat: Math.floor(issuedAt / 1000),
      exp: Math.floor(expiresAt / 1000),
      application_name: application.name,
      'developer.email': application.developerEmail,
      // Left out if there are none.
      labels: publicLabelsOf(application),
    }
  })
}

/** The credentials of the suite: by HTTP Basic or in the body, never both (RFC 6749 §2.3, RFC 7662 §2.1). */
function credentialsOf(request: FastifyRequest, form: Form): Credentials {
  const inHeader = credentialsInHeader(request, form, 'suite')
  if (inHeader) return inHeader
  const { client_id, client_secret } = form
  if (!client_id || !client_secret) throw new RequestRefused('no credentials', { field: 'suite' })
  return { clientId: client_id, clientSecret: client_secret }
}
