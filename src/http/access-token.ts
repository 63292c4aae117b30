import type { FastifyInstance } from 'fastify'
import { RequestRefused } from '../domain/refusal.ts'
import { constant, jsonSchema, object, text, whole } from '../domain/schema.ts'
import { type ClientOptions, clientAuthentication, formSchema } from './wire/form.ts'
import { requesterOf } from './wire/request.ts'

export const ACCESS_TOKEN_PATH = '/v1/oauth/accesstoken'

interface TokenRequest {
  Body: { grant_type: string; client_id: string; client_secret: string }
}

export const tokenRequest = formSchema(['grant_type', 'client_id', 'client_secret'])

/** The eight fields of the contract, in its order. Fastify generates the serializer from this schema. */
export const tokenResponse = jsonSchema(
  object('TokenResponse', 'Exactly these eight fields, in this order', {
    access_token: text('The token, opaque to the client').min(1),
    token_type: constant('bearer', 'In lower case'),
    expires_in: whole('The remaining lifetime in seconds, just under 3600 for a fresh token').min(0).max(3600),
    scope: constant('', 'Empty'),
    application_name: text('The name of the application that the credentials belong to'),
    'developer.email': text(
      "The contact address of the application's developer. The name of this field contains a dot",
    ),
    issued_at: text('The time of issue, in milliseconds since the epoch').regex(/^[0-9]{13}$/),
    client_id: text('The identifier of the application'),
  }),
)

/** The token endpoint: issues an access token for client credentials in the body. docs/contract.md; RFC 6749 §4.4. */
export function accessToken(app: FastifyInstance, options: ClientOptions): void {
  const { issuer, observe } = options
  app.post<TokenRequest>(
    ACCESS_TOKEN_PATH,
    { ...clientAuthentication(options), schema: { body: tokenRequest, response: { 200: tokenResponse } } },
    async (request) => {
      const { grant_type, client_id, client_secret } = request.body
      if (grant_type !== 'client_credentials') throw new RequestRefused('unsupported grant type')

      const requester = requesterOf(request)
      const credentials = { clientId: client_id, clientSecret: client_secret }
      const { client: application, secretId, token } = await issuer.grant(credentials, requester.remoteAddress)
      const { accessToken, tokenId, issuedAt, expiresIn } = token

      const authentication = request.headers.authorization === undefined ? undefined : 'basic'
      observe({ type: 'token issued', clientId: client_id, tokenId, secretId, authentication, ...requester })
      return {
        access_token: accessToken,
        token_type: 'bearer',
        expires_in: expiresIn,
        scope: '',
        application_name: application.name,
        'developer.email': application.developerEmail,
        issued_at: String(issuedAt),
        client_id: application.clientId,
      }
    },
  )
}
