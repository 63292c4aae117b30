import t from 'tap'
import { createWorld, PUBLIC_URL } from '../support/world.ts'

t.test('RFC 8414 §2: the metadata names the issuer, each endpoint and how to authenticate there', async (t) => {
  const { app } = await createWorld(t)
  const answer = await app.inject('/.well-known/oauth-authorization-server')
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
  const answer = await app.inject('/.well-known/oauth-authorization-server')
  t.equal(answer.json().service_documentation, 'https://docs.example/tokens?v=1')
})
