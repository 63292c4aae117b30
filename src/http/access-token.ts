import type { FastifyInstance } from 'fastify'
import type { Observer } from '../domain/events.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { Issuer } from '../issuer/issuer.ts'
import { credentialsInForm, formSchema } from './wire/form.ts'
import { askedBy } from './wire/request.ts'

export const ACCESS_TOKEN_PATH = '/v1/oauth/accesstoken'

interface TokenRequest {
  Body: { grant_type: string; client_id: string; client_secret: string }
}

/** The form of a token request. */
export const tokenRequest = formSchema(['grant_type', 'client_id', 'client_secret'])

/** The contract's eight fields, in its order; the schema is also the serializer. */
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

/** The token endpoint: client credentials in the body for an access token. docs/contract.md; RFC 6749 §4.4. */
export function accessToken(app: FastifyInstance, { issuer, observe }: { issuer: Issuer; observe: Observer }): void {
  app.post<TokenRequest>(
    ACCESS_TOKEN_PATH,
    {
      onRequest: credentialsInForm,
      schema: { body: tokenRequest, response: { 200: tokenResponse } },
    },
    async (request) => {
      const { grant_type, client_id, client_secret } = request.body
      if (grant_type !== 'client_credentials') throw new RequestRefused('unsupported grant type')

      const asked = askedBy(request)
      const { client: application, secretId } = await issuer.authenticate(
        { clientId: client_id, clientSecret: client_secret },
        asked.remoteAddress,
      )
      const { accessToken, tokenId, issuedAt, expiresIn } = await issuer.issue(application)

      observe({ type: 'token issued', clientId: client_id, tokenId, secretId, ...asked })
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
