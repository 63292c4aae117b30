import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import t from 'tap'
import { createWorld, START } from '../support/world.ts'

/** How each library asks for a token, and what it makes of an answer. */
const LIBRARIES: Record<string, (issuer: string, client_id: string, secret: string) => Promise<object>> = {
  async oauth4webapi(issuer, client_id, secret) {
    const server = { issuer, token_endpoint: `${issuer}/v1/oauth/accesstoken` }
    const options = { [oauth4webapi.allowInsecureRequests]: true }
    const authentication = oauth4webapi.ClientSecretPost(secret)
    const client = { client_id }
    const response = await oauth4webapi.clientCredentialsGrantRequest(server, client, authentication, {}, options)
    return oauth4webapi.processClientCredentialsResponse(server, client, response)
  },
  async 'openid-client'(issuer, client_id, secret) {
    const server = { issuer, token_endpoint: `${issuer}/v1/oauth/accesstoken` }
    const config = new openidClient.Configuration(server, client_id, undefined, openidClient.ClientSecretPost(secret))
    openidClient.allowInsecureRequests(config)
    return openidClient.clientCredentialsGrant(config)
  },
}

for (const [name, request] of Object.entries(LIBRARIES)) {
  t.test(`Clients: ${name} gets a token, and the error where it is refused`, async (t) => {
    const { app, credentials } = await createWorld(t)
    const { client_id, client_secret } = credentials
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    const token = { token_type: 'bearer', scope: '', issued_at: String(START), expires_in: 3599 }
    t.match(await request(address, client_id, client_secret), { ...token, application_name: 'Störe ✓' })
    const error = await request(address, client_id, 'wrong').catch((error) => error)
    t.match(error, { status: 401, error: 'invalid_client' })
  })
}
