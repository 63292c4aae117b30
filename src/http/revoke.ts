import type { FastifyInstance } from 'fastify'
import { type ClientOptions, clientAuthentication, readForm } from './wire/form.ts'
import { reportOnly } from './wire/refuse.ts'
import { requesterOf } from './wire/request.ts'

export const REVOKE_PATH = '/v1/oauth/revoke'

/** Revocation, RFC 7009: an application revokes one of its tokens. Any other token is ignored, and the answer is also 200. */
export function revoke(app: FastifyInstance, options: ClientOptions): void {
  const { issuer, observe } = options
  app.post(REVOKE_PATH, clientAuthentication(options), async (request, reply) => {
    const { token, client_id, client_secret } = readForm(request, ['client_id', 'client_secret', 'token'])
    const requester = requesterOf(request)
    const credentials = { clientId: client_id, clientSecret: client_secret }
    const { client: application, isElsewhere } = await issuer.authenticate(credentials, requester.remoteAddress)
    if (isElsewhere) reportOnly(observe, 'address not allowed (report only)', client_id, request)
    const tokenId = await issuer.revoke(application, token)
    const caller = { clientId: client_id, ...requester }
    observe(tokenId ? { type: 'token revoked', tokenId, ...caller } : { type: 'nothing to revoke', ...caller })
    return reply.send()
  })
}
