import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { json, text } from 'node:stream/consumers'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import t, { type Test } from 'tap'
import { needs } from '../support/needs.ts'
import { createWorld, PUBLIC_URL, START } from '../support/world.ts'

/** Not Python's first on the path: Authlib is a package of the system's. */
const PYTHON = '/usr/bin/python3'

const METHODS = ['client_secret_basic', 'client_secret_post'] as const
type Method = (typeof METHODS)[number]

/** A listening server, a suite that asks it, and the token of an application that is approved for the suite. */
async function createSuite(t: Test) {
  const world = await createWorld(t)
  const address = await world.app.listen({ port: 0, host: '127.0.0.1' })
  // A hyphen is what some clients percent-encode in HTTP Basic (RFC 6749 §2.3.1) and others do not.
  const suite = await world.administration.registerSuite({ suiteId: 'product-information', name: 'Products' })
  await world.administration.approve(world.credentials.client_id, suite.suiteId)
  const token: string = (await world.post()).json().access_token
  const { client_id, client_secret } = world.credentials
  const revoke = () => world.post({ client_id, client_secret, token }, {}, '/v1/oauth/revoke')
  return { ...world, address, url: `${address}/v1/oauth/introspect`, suite, token, revoke }
}

type Suite = Awaited<ReturnType<typeof createSuite>>

/** Everything that a suite is told of a valid token. */
const active = ({ credentials, suite, lines }: Suite) => ({
  active: true,
  client_id: credentials.client_id,
  sub: credentials.client_id,
  aud: suite.suiteId,
  iss: PUBLIC_URL,
  jti: lines.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'token issued').token_id,
  token_type: 'bearer',
  scope: '',
  iat: START / 1000,
  exp: START / 1000 + 3600,
  application_name: 'Störe ✓',
  'developer.email': 'developer@partner.example',
})

const WRONG_SECRET = {
  status: 401,
  cause: [{ scheme: 'basic', parameters: { realm: 'suites' } }],
}

function oauth4webapiAsks({ address, url, suite }: Suite, method: Method, token: string, secret = suite.clientSecret) {
  const server = { issuer: address, introspection_endpoint: url }
  const client = { client_id: suite.suiteId }
  const authentication = {
    client_secret_basic: oauth4webapi.ClientSecretBasic(secret),
    client_secret_post: oauth4webapi.ClientSecretPost(secret),
  }[method]
  return oauth4webapi
    .introspectionRequest(server, client, authentication, token, { [oauth4webapi.allowInsecureRequests]: true })
    .then((response) => oauth4webapi.processIntrospectionResponse(server, client, response))
}

function openidClientAsks({ address, url, suite }: Suite, method: Method, token: string, secret = suite.clientSecret) {
  const server = { issuer: address, introspection_endpoint: url }
  const authentication = {
    client_secret_basic: openidClient.ClientSecretBasic(secret),
    client_secret_post: openidClient.ClientSecretPost(secret),
  }[method]
  const config = new openidClient.Configuration(server, suite.suiteId, undefined, authentication)
  openidClient.allowInsecureRequests(config)
  return openidClient.tokenIntrospection(config, token, { token_type_hint: 'access_token' })
}

for (const [name, ask] of [
  ['oauth4webapi', oauth4webapiAsks],
  ['openid-client', openidClientAsks],
] as const) {
  for (const method of METHODS) {
    t.test(`RFC 7662: ${name} with ${method} finds a valid token active`, async (t) => {
      const suite = await createSuite(t)
      t.strictSame({ ...(await ask(suite, method, suite.token)) }, active(suite))
    })

    t.test(`RFC 7662: ${name} with ${method} finds any other token inactive`, async (t) => {
      const suite = await createSuite(t)
      const { administration, clock, credentials, revoke, token } = suite
      const inactive = async (token: string, why: string) =>
        t.strictSame({ ...(await ask(suite, method, token)) }, { active: false }, why)

      await inactive('A'.repeat(64), 'unknown')
      await inactive('no token', 'malformed')
      await administration.withdraw(credentials.client_id, suite.suite.suiteId)
      await inactive(token, 'not approved')
      await administration.approve(credentials.client_id, suite.suite.suiteId)
      clock.time = START + 3_600_000
      await inactive(token, 'expired')
      clock.time = START
      t.strictSame({ ...(await ask(suite, method, token)) }, active(suite), 'it was active until then')
      await revoke()
      await inactive(token, 'revoked')
    })

    t.test(`RFC 7662: ${name} with ${method} learns that the suite's secret is wrong`, async (t) => {
      const suite = await createSuite(t)
      t.match(await ask(suite, method, suite.token, 'wrong').catch((error) => error), WRONG_SECRET)
    })
  }
}

const authlib = spawnSync(PYTHON, ['-c', 'import authlib.integrations.requests_client'])
const skip = needs("Python's Authlib", authlib.status === 0)

t.test(
  'RFC 7662: Authlib accepts a valid token and no other, and learns that a secret is wrong',
  { skip },
  async (t) => {
    const suite = await createSuite(t)
    const { url, token, revoke } = suite
    for (const method of METHODS) {
      t.strictSame(await ask(token, method), { status: 200, body: active(suite), taken: true }, method)
    }
    await revoke()
    for (const method of METHODS) {
      t.strictSame(await ask(token, method), { status: 200, body: { active: false }, taken: false }, method)
      t.match(
        await ask(token, method, 'wrong'),
        { status: 401, body: { error: 'invalid_client' }, taken: false },
        method,
      )
    }

    async function ask(token: string, method: Method, client_secret = suite.suite.clientSecret) {
      const child = spawn(PYTHON, [join(import.meta.dirname, 'introspect_with_authlib.py')])
      child.stdin.end(JSON.stringify({ url, client_id: suite.suite.suiteId, client_secret, method, token }))
      const [answer, errors, [status]] = await Promise.all([
        json(child.stdout).catch(() => undefined),
        text(child.stderr),
        once(child, 'exit'),
      ])
      t.equal(status, 0, errors)
      return answer
    }
  },
)
