import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { ClientCredentials } from 'simple-oauth2'
import t, { type Test } from 'tap'
import { createWorld, START } from '../support/world.ts'

async function listening(t: Test) {
  const { app, credentials } = await createWorld(t)
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  return { address, tokenEndpoint: `${address}/v1/oauth/accesstoken`, ...credentials }
}

const EXPECTED = { token_type: 'bearer', scope: '', application_name: 'Störe ✓', issued_at: String(START) }

t.test('Clients: oauth4webapi gets a token, and the error where it is refused', async (t) => {
  const { address, tokenEndpoint, client_id, client_secret } = await listening(t)
  const server = { issuer: address, token_endpoint: tokenEndpoint }
  const request = async (secret: string) => {
    const response = await oauth4webapi.clientCredentialsGrantRequest(
      server,
      { client_id },
      oauth4webapi.ClientSecretPost(secret),
      {},
      { [oauth4webapi.allowInsecureRequests]: true },
    )
    return oauth4webapi.processClientCredentialsResponse(server, { client_id }, response)
  }
  t.match(await request(client_secret), { ...EXPECTED, expires_in: 3599 })
  t.match(await request('wrong').catch((error) => error), { error: 'invalid_client', status: 401 })
})

t.test('Clients: openid-client gets a token, and the error where it is refused', async (t) => {
  const { address, tokenEndpoint, client_id, client_secret } = await listening(t)
  const request = (secret: string) => {
    const server = { issuer: address, token_endpoint: tokenEndpoint }
    const config = new openidClient.Configuration(server, client_id, undefined, openidClient.ClientSecretPost(secret))
    openidClient.allowInsecureRequests(config)
    return openidClient.clientCredentialsGrant(config)
  }
  const tokens = await request(client_secret)
  t.match(tokens, EXPECTED)
  t.ok((tokens.expiresIn() as number) > 3590)
  t.match(await request('wrong').catch((error) => error), { error: 'invalid_client', status: 401 })
})

t.test('Clients: simple-oauth2 gets a token, and the error where it is refused', async (t) => {
  const { address, client_id, client_secret } = await listening(t)
  const request = (secret: string) =>
    new ClientCredentials({
      client: { id: client_id, secret },
      auth: { tokenHost: address, tokenPath: '/v1/oauth/accesstoken' },
      options: { authorizationMethod: 'body' },
    }).getToken({})
  t.match((await request(client_secret)).token, { ...EXPECTED, expires_in: 3599 })
  t.match(await request('wrong').catch((error) => error), { output: { statusCode: 401 } })
})
