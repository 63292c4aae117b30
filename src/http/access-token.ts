import type { FastifyInstance } from 'fastify'
import type { Application } from '../domain/application.ts'
import { RequestRefused } from '../domain/refusal.ts'
import type { IssuedToken } from '../issuer/issuer.ts'
import { type ClientOptions, clientAuthentication, credentialsIn, readForm } from './wire/form.ts'
import { JSON_TYPE, reportOnly } from './wire/refuse.ts'
import { requesterOf } from './wire/request.ts'

export const ACCESS_TOKEN_PATH = '/v1/oauth/accesstoken'

/** The eight fields of docs/contract.md, in its order. JSON.stringify would take longer for the whole object. */
function tokenJson({ accessToken, expiresIn, issuedAt }: IssuedToken, application: Application): string {
  return `{"access_token":"${accessToken}","token_type":"bearer","expires_in":${expiresIn},"scope":"","application_name":${JSON.stringify(application.name)},"developer.email":${JSON.stringify(application.developerEmail)},"issued_at":"${issuedAt}","client_id":${JSON.stringify(application.clientId)}}`
}

/** The token endpoint: issues an access token for client credentials in the body. docs/contract.md; RFC 6749 §4.4. */
export function accessToken(app: FastifyInstance, options: ClientOptions): void {
  const { issuer, observe } = options
  app.post(ACCESS_TOKEN_PATH, clientAuthentication(options), async (request, reply) => {
    const form = readForm(request, ['grant_type', 'client_id', 'client_secret'])
    if (form.grant_type !== 'client_credentials') throw new RequestRefused('unsupported grant type')

    const requester = requesterOf(request)
    const credentials = credentialsIn(form, options)
    const granted = await issuer.grant(credentials, requester.remoteAddress, form.resource)
    const { client: application, secretId, token } = granted

    const { clientId, isAssertion } = credentials
    const header = request.headers.authorization === undefined ? undefined : 'basic'
    const authentication = isAssertion ? 'jwt' : header
    const { tokenId, audience } = token
    const suite = audience ?? undefined
    observe({ type: 'token issued', clientId, tokenId, secretId, suite, authentication, ...requester })
    if (granted.isElsewhere) reportOnly(observe, 'address not allowed (report only)', clientId, request)
    if (token.isOverQuota) reportOnly(observe, 'token quota exceeded (report only)', clientId, request)
    reply.type(JSON_TYPE)
    return tokenJson(token, application)
  })
}
