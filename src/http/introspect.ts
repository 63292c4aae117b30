import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RequestRefused } from '../domain/refusal.ts'
import { constant, flag, jsonSchema, object, text, whole } from '../domain/schema.ts'
import type { Credentials } from '../issuer/authenticate.ts'
import { credentialsInHeader } from './wire/authorization.ts'
import { type CheckOptions, reportCheck } from './wire/checks.ts'
import { formSchema, formsOnly } from './wire/form.ts'

export const INTROSPECT_PATH = '/v1/oauth/introspect'

interface IntrospectionRequest {
  Body: { token?: string; client_id?: string; client_secret?: string }
}

/** The form of an introspection request. Which fields are required depends on how the suite authenticates. */
export const introspectionRequest = formSchema([])

const ACTIVE_TOKEN = object(
  'ActiveToken',
  'A token that is valid, of an application that is approved for the asking suite',
  {
    active: constant(true, 'The token is valid, and its application is approved for the asking suite'),
    client_id: text('The identifier of the application'),
    sub: text('The same identifier'),
    aud: text('The asking suite'),
    iss: text('Where clients find this server, `PUBLIC_URL`').meta({ format: 'uri' }),
    jti: text("The token's public id, which the server's log has too").meta({ format: 'uuid' }),
    token_type: constant('bearer', 'In lower case'),
    iat: whole('When the token was issued, in seconds since the epoch'),
    exp: whole('When it expires, in seconds since the epoch'),
    application_name: text('The name of the application'),
    'developer.email': text('The contact address of its developer'),
  },
)

/** One schema for both answers, for the serializer. */
export const introspectionResponse = jsonSchema(
  ACTIVE_TOKEN.partial().extend({ active: flag('Whether the token is valid') }),
)

/** The WWW-Authenticate header of its 401s, RFC 9110 §11.6.1. */
const config = { challenge: 'Basic realm="suites", charset="UTF-8"' }

/** Introspection for suites, RFC 7662. The answer for every token that is not valid is `{"active":false}`. */
export function introspect(app: FastifyInstance, options: CheckOptions): void {
  const { issuer, publicUrl } = options

  app.post<IntrospectionRequest>(
    INTROSPECT_PATH,
    { config, onRequest: formsOnly, schema: { body: introspectionRequest, response: { 200: introspectionResponse } } },
    async (request) => {
      const { client: suite } = await issuer.authenticateSuite(credentialsOf(request))
      const { token } = request.body
      if (!token)
        throw new RequestRefused('field missing', { field: 'token', isKnownField: true, suite: suite.suiteId })

      const verdict = await issuer.check(token, { suite: suite.suiteId })
      reportCheck(options, verdict, suite.suiteId, request)
      if (verdict.kind !== 'active') return { active: false }
      const { application, tokenId, issuedAt, expiresAt } = verdict
      return {
        active: true,
        client_id: application.clientId,
        sub: application.clientId,
        aud: suite.suiteId,
        iss: publicUrl,
        jti: tokenId,
        token_type: 'bearer',
        iat: Math.floor(issuedAt / 1000),
        exp: Math.floor(expiresAt / 1000),
        application_name: application.name,
        'developer.email': application.developerEmail,
      }
    },
  )
}

/** The credentials of the suite: by HTTP Basic or in the body, never both (RFC 6749 §2.3, RFC 7662 §2.1). */
function credentialsOf(request: FastifyRequest<IntrospectionRequest>): Credentials {
  const inHeader = credentialsInHeader(request, request.body, 'suite')
  if (inHeader) return inHeader
  const { client_id, client_secret } = request.body
  if (!client_id || !client_secret) throw new RequestRefused('no credentials', { field: 'suite' })
  return { clientId: client_id, clientSecret: client_secret }
}
