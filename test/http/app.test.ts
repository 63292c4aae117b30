import { renameSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createWorldOfSuites } from '../support/suites.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, PUBLIC_URL } from '../support/world.ts'

const METADATA = '/.well-known/oauth-authorization-server'

t.test('Health: a server that answers is live; ready is one that can read its store', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { app } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  t.equal((await app.inject('/health/live')).statusCode, 200)
  t.match((await app.inject('/health/ready')).json(), { status: 'ok' })

  renameSync(file, `${file}.gone`)
  t.equal((await app.inject('/health/live')).statusCode, 200)
  const answer = await app.inject('/health/ready')
  t.strictSame([answer.statusCode, answer.json().error], [503, 'temporarily_unavailable'])
})

t.test('RFC 8414 §2: the metadata names the issuer, each endpoint and how to authenticate there', async (t) => {
  const { app } = await createWorld(t)
  const answer = await app.inject(METADATA)
  t.equal(answer.statusCode, 200)
  t.match(answer.headers['content-type'], /^application\/json/)
  const metadata = answer.json()
  t.strictSame(metadata, {
    issuer: PUBLIC_URL,
    token_endpoint: `${PUBLIC_URL}/v1/oauth/accesstoken`,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    introspection_endpoint: `${PUBLIC_URL}/v1/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    revocation_endpoint: `${PUBLIC_URL}/v1/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['client_secret_post'],
  })
  for (const name of ['token', 'introspection', 'revocation']) {
    const url = new URL(metadata[`${name}_endpoint`]).pathname
    t.ok(app.hasRoute({ method: 'POST', url }), url)
  }
})

t.test('RFC 8414 §2: the metadata say where people read about the server, if the operator did', async (t) => {
  const { app } = await createWorld(t, { docsUrl: 'https://docs.example/tokens?v=1' })
  t.equal((await app.inject(METADATA)).json().service_documentation, 'https://docs.example/tokens?v=1')
})

t.test('RFC 6749 §5.1: what is true for a moment only is kept out of every cache', async (t) => {
  const { app, token, verify, introspect, post, credentials } = await createWorldOfSuites(t)
  const accessToken = await token()
  const answers = {
    'a token': await post(),
    'a check': await verify(accessToken),
    'a refused check': await verify('x'),
    'an active token': await introspect(accessToken),
    'an inactive token': await introspect('x'),
    'a revocation': await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke'),
    live: await app.inject('/health/live'),
    ready: await app.inject('/health/ready'),
    'no endpoint': await app.inject('/nowhere'),
  }
  const never = { 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' }
  for (const [what, { headers }] of Object.entries(answers)) t.match(headers, never, what)
  const { headers } = await app.inject(METADATA)
  t.match(headers, { 'cache-control': undefined, pragma: undefined, 'x-content-type-options': 'nosniff' })
})

t.test('Log: Fastify writes none of its own, where a target or a header could be in it', async (t) => {
  const { app } = await createWorld(t)
  t.equal(app.log.level, undefined)
})
