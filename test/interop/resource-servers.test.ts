import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import t from 'tap'
import { activeAnswer, createSuite, METHODS, type Method, type Suite } from '../support/resource-server.ts'
import { START } from '../support/world.ts'

function oauth4webapiAsks({ address, url, suite }: Suite, method: Method, token: string, secret: string) {
  const server = { issuer: address, introspection_endpoint: url }
  const client = { client_id: suite.suiteId }
  const { ClientSecretBasic, ClientSecretPost } = oauth4webapi
  const authentication = (method === 'client_secret_basic' ? ClientSecretBasic : ClientSecretPost)(secret)
  return oauth4webapi
    .introspectionRequest(server, client, authentication, token, { [oauth4webapi.allowInsecureRequests]: true })
    .then((response) => oauth4webapi.processIntrospectionResponse(server, client, response))
}

function openidClientAsks({ address, url, suite }: Suite, method: Method, token: string, secret: string) {
  const server = { issuer: address, introspection_endpoint: url }
  const { ClientSecretBasic, ClientSecretPost } = openidClient
  const authentication = (method === 'client_secret_basic' ? ClientSecretBasic : ClientSecretPost)(secret)
  const config = new openidClient.Configuration(server, suite.suiteId, undefined, authentication)
  openidClient.allowInsecureRequests(config)
  return openidClient.tokenIntrospection(config, token, { token_type_hint: 'access_token' })
}

for (const [name, ask] of Object.entries({ oauth4webapi: oauth4webapiAsks, 'openid-client': openidClientAsks })) {
  for (const method of METHODS) {
    t.test(`RFC 7662: ${name} with ${method} takes a valid token and no other`, async (t) => {
      const world = await createSuite(t)
      const { administration, clock, credentials, revoke, suite, token } = world
      const answer = async (asked = token) => ({ ...(await ask(world, method, asked, suite.clientSecret)) })
      const isInactive = async (why: string, asked = token) => t.strictSame(await answer(asked), { active: false }, why)
      t.strictSame(await answer(), activeAnswer(world))
      await isInactive('unknown', 'A'.repeat(64))
      await isInactive('malformed', 'no token')
      await administration.withdraw(credentials.client_id, suite.suiteId)
      await isInactive('not approved')
      await administration.approve(credentials.client_id, suite.suiteId)
      clock.time = START + 3_600_000
      await isInactive('expired')
      clock.time = START
      t.strictSame(await answer(), activeAnswer(world), 'it was active until then')
      await revoke()
      await isInactive('revoked')
      t.match(await ask(world, method, token, 'wrong').catch((error) => error), {
        status: 401,
        cause: [{ scheme: 'basic', parameters: { realm: 'suites' } }],
      })
    })
  }
}
