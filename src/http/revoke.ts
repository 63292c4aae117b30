import type { FastifyInstance } from 'fastify'
import { type ClientOptions, clientAuthentication, credentialsIn, readForm } from './wire/form.ts'
import { reportOnly } from './wire/refuse.ts'
import { requesterOf } from './wire/request.ts'

export const REVOKE_PATH = '/v1/oauth/revoke'

/** Revocation, RFC 7009: an application revokes one of its tokens. Any other token is ignored, and the answer is also 200. */
export function revoke(app: FastifyInstance, options: ClientOptions): void {
  const { issuer, observe } = options
  app.post(REVOKE_PATH, clientAuthentication(options), async (request, reply) => {
    const form = readForm(request, ['client_id', 'client_secret', 'token'])
    const requester = requesterOf(request)
    const credentials = credentialsIn(form, options)
    const { clientId } = credentials
    const { client: application, isElsewhere } = await issuer.authenticate(credentials, requester.remoteAddress)
    if (isElsewhere) reportOnly(observe, 'address not allowed (report only)', clientId, request)
    const tokenId = await issuer.revoke(application, form.token)
    const caller = { clientId, ...requester }
    observe(tokenId ? { type: 'token revoked', tokenId, ...caller } : { type: 'nothing to revoke', ...caller })
    return reply.send()
  })
}
