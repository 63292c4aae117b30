import { renameSync } from 'node:fs'
import t from 'tap'
import { createWorld, createWorldWithFile, PUBLIC_URL } from '../support/world.ts'

t.test('Health: a server that answers is live, and ready if it can read its store', async (t) => {
  const { app, file } = await createWorldWithFile(t)
  const both = async () =>
    [await app.inject('/health/live'), await app.inject('/health/ready')].map(({ statusCode }) => statusCode)
  t.strictSame(await both(), [200, 200])
  renameSync(file, `${file}.gone`)
  t.strictSame(await both(), [200, 503])
})

t.test('RFC 8414 §2: the metadata has the URLs of existing endpoints, and of the documentation', async (t) => {
  const { app } = await createWorld(t, { docsUrl: 'https://docs.example/tokens?v=1' })
  const metadata = (await app.inject('/.well-known/oauth-authorization-server')).json()
  for (const name of ['token', 'introspection', 'revocation']) {
    const url = metadata[`${name}_endpoint`].slice(PUBLIC_URL.length)
    t.ok(app.hasRoute({ method: 'POST', url }), url)
  }
  const authorize = metadata.authorization_endpoint.slice(PUBLIC_URL.length)
  t.ok(app.hasRoute({ method: 'GET', url: authorize }), authorize)
  t.equal(metadata.service_documentation, 'https://docs.example/tokens?v=1')
})

t.test('RFC 8414 §2: the metadata has the introspection endpoint of INTROSPECTION_URL', async (t) => {
  const { app } = await createWorld(t, { introspectionUrl: 'https://api.internal/introspect' })
  t.match((await app.inject('/.well-known/oauth-authorization-server')).json(), {
    issuer: PUBLIC_URL,
    token_endpoint: `${PUBLIC_URL}/v1/oauth/accesstoken`,
    introspection_endpoint: 'https://api.internal/introspect',
    revocation_endpoint: `${PUBLIC_URL}/v1/oauth/revoke`,
  })
})

t.test('Log: Fastify logs nothing, because a target or a header could be in it', async (t) => {
  const { app } = await createWorld(t)
  t.equal(app.log.level, undefined)
})
