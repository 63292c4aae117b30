import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { Refusal } from '../domain/refusal.ts'
import type { Suite } from '../domain/suite.ts'
import type { Credentials } from '../issuer/authenticate.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { authorizationOf, basicCredentials } from './wire/authorization.ts'
import { assertForm, formSchema } from './wire/form.ts'
import { HttpRefusal, NO_STORE } from './wire/refusals.ts'

export const INTROSPECT_PATH = '/v1/oauth/introspect'

interface IntrospectionRequest {
  Body: { token?: string; client_id?: string; client_secret?: string }
}

export const introspectionResponse = {
  type: 'object',
  required: ['active'],
  properties: {
    active: { type: 'boolean' },
    client_id: { type: 'string' },
    sub: { type: 'string' },
    aud: { type: 'string' },
    iss: { type: 'string' },
    jti: { type: 'string' },
    token_type: { type: 'string' },
    scope: { type: 'string' },
    iat: { type: 'integer' },
    exp: { type: 'integer' },
    application_name: { type: 'string' },
    'developer.email': { type: 'string' },
  },
}

/** Introspection for suites, RFC 7662: whatever is wrong with a token, the answer is `{"active":false}`. */
export function introspect(
  app: FastifyInstance,
  { issuer, log, publicUrl }: { issuer: Issuer; log: Logger; publicUrl: string },
): void {
  app.post<IntrospectionRequest>(
    INTROSPECT_PATH,
    {
      onRequest: (request, _reply, done) => {
        assertForm(request)
        done()
      },
      schema: { body: formSchema([]), response: { 200: introspectionResponse } },
    },
    async (request, reply) => {
      const suite = await authenticated(issuer, request)
      const { token } = request.body
      if (!token) throw new HttpRefusal(400, 'The field token is missing')

      const checked = await issuer.checkToken(token)
      const active = 'application' in checked && checked.application.suites.includes(suite.suiteId)
      reply.headers(NO_STORE)
      if (!active) {
        log.info(inactiveLine(checked, suite, request), 'token refused')
        return { active }
      }
      const { application, tokenId, issuedAt, expiresAt } = checked
      return {
        active,
        client_id: application.clientId,
        sub: application.clientId,
        aud: suite.suiteId,
        iss: publicUrl,
        jti: tokenId,
        token_type: 'bearer',
        scope: '',
        iat: Math.floor(issuedAt / 1000),
        exp: Math.floor(expiresAt / 1000),
        application_name: application.name,
        'developer.email': application.developerEmail,
      }
    },
  )
}

/** The suite that asks: by HTTP Basic or in the body, never both (RFC 6749 §2.3, RFC 7662 §2.1). */
async function authenticated(issuer: Issuer, request: FastifyRequest<IntrospectionRequest>): Promise<Suite> {
  const authorization = authorizationOf(request)
  const { client_id, client_secret } = request.body
  if (authorization !== undefined && client_secret !== undefined) {
    throw new HttpRefusal(400, 'Credentials are given both in the body and in the Authorization header')
  }
  const credentials: Credentials | undefined =
    authorization === undefined
      ? client_id && client_secret
        ? { clientId: client_id, clientSecret: client_secret }
        : undefined
      : basicCredentials(authorization)

  const headers = { 'www-authenticate': 'Basic realm="suites", charset="UTF-8"' }
  const code = 'invalid_client'
  if (!credentials) throw new HttpRefusal(401, 'A suite must authenticate', { code, headers })
  try {
    return await issuer.authenticateSuite(credentials)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new HttpRefusal(401, error.description, { code, headers, log: error.log })
  }
}

function inactiveLine(checked: Awaited<ReturnType<Issuer['checkToken']>>, suite: Suite, request: FastifyRequest) {
  const line = { suite: suite.suiteId, token_id: checked.tokenId, remote_address: request.ip }
  return 'application' in checked
    ? { ...line, reason: 'application not approved', client_id: checked.application.clientId }
    : { ...line, reason: checked.reason, client_id: checked.clientId }
}
