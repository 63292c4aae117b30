import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import { Refusal } from '../domain/refusal.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { assertBodyCredentials, assertForm, formSchema } from './wire/form.ts'
import { NO_STORE } from './wire/refusals.ts'

export const ACCESS_TOKEN_PATH = '/v1/oauth/accesstoken'

interface TokenRequest {
  Body: { grant_type: string; client_id: string; client_secret: string }
}

/** The contract's eight fields, in its order; the schema is also the serialiser. */
export const tokenResponse = {
  type: 'object',
  properties: {
    access_token: { type: 'string' },
    token_type: { type: 'string' },
    expires_in: { type: 'integer' },
    scope: { type: 'string' },
    application_name: { type: 'string' },
    'developer.email': { type: 'string' },
    issued_at: { type: 'string' },
    client_id: { type: 'string' },
  },
}

/** The token endpoint: client credentials in the body for an access token. The contract; RFC 6749 §4.4. */
export function accessToken(app: FastifyInstance, { issuer, log }: { issuer: Issuer; log: Logger }): void {
  app.post<TokenRequest>(
    ACCESS_TOKEN_PATH,
    {
      onRequest: (request, _reply, done) => {
        assertForm(request)
        assertBodyCredentials(request)
        done()
      },
      schema: {
        body: formSchema(['grant_type', 'client_id', 'client_secret']),
        response: { 200: tokenResponse },
      },
    },
    async (request, reply) => {
      const { grant_type, client_id, client_secret } = request.body
      if (grant_type !== 'client_credentials') {
        throw new Refusal('unsupported_grant_type', 'The grant_type must be client_credentials')
      }

      const application = await issuer.authenticate({ clientId: client_id, clientSecret: client_secret })
      const token = await issuer.issue(application)

      log.info({ client_id, token_id: token.tokenId, remote_address: request.ip }, 'token issued')
      reply.headers(NO_STORE)
      return {
        access_token: token.accessToken,
        token_type: 'bearer',
        expires_in: token.expiresIn,
        scope: '',
        application_name: application.name,
        'developer.email': application.developerEmail,
        issued_at: String(token.issuedAt),
        client_id: application.clientId,
      }
    },
  )
}
