import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { Issuer } from '../issuer/issuer.ts'
import { assertBodyCredentials, assertForm, formSchema } from './wire/form.ts'
import { NO_STORE } from './wire/refusals.ts'

export const REVOKE_PATH = '/v1/oauth/revoke'

interface RevocationRequest {
  Body: { token: string; client_id: string; client_secret: string }
}

/** Revocation, RFC 7009: an application revokes a token of its own; for any other token nothing happens, with 200. */
export function revoke(app: FastifyInstance, { issuer, log }: { issuer: Issuer; log: Logger }): void {
  app.post<RevocationRequest>(
    REVOKE_PATH,
    {
      onRequest: (request, _reply, done) => {
        assertForm(request)
        assertBodyCredentials(request)
        done()
      },
      schema: { body: formSchema(['client_id', 'client_secret', 'token']) },
    },
    async (request, reply) => {
      const { token, client_id, client_secret } = request.body
      const application = await issuer.authenticate({ clientId: client_id, clientSecret: client_secret })
      const tokenId = await issuer.revoke(application, token)
      const line = { client_id, token_id: tokenId, remote_address: request.ip }
      log.info(line, tokenId ? 'token revoked' : 'no such token of this client to revoke')
      return reply.headers(NO_STORE).send()
    },
  )
}
