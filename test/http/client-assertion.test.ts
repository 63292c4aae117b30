import t, { type Test } from 'tap'
import { on } from '../support/on.ts'
import { createSigner, credential, given, SUBJECT, sign } from '../support/workload-issuer.ts'
import { createWorld, PUBLIC_URL } from '../support/world.ts'

// CLIENT_AUTHENTICATION=body,jwt: RFC 7523 §2.2.

const TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const PLATFORM = 'https://kubernetes.default.svc'
const METADATA = '/.well-known/oauth-authorization-server'

/** A world whose application may authenticate with keys of its own, or with a JWT of its platform. */
async function createAssertionWorld(t: Test, { acceptsJwt = true, acceptsBasic = false } = {}) {
  const world = await createWorld(t, { acceptsJwt, acceptsBasic })
  const { store, credentials, post, logged } = world
  const id = credentials.client_id
  const signer = await createSigner()
  await on(store).addSecret(id, credential(id, { subject: id, keys: given(signer) }))
  await on(store).addSecret(id, credential(PLATFORM, { keys: given(signer) }))
  await on(store).addSecret(id, credential(PLATFORM, { subject: 'x', audience: 'x', keys: given(signer) }))
  /** A JWT of the application itself. */
  const own = (claims: Record<string, unknown> = {}, header = {}) =>
    sign(signer, { iss: id, sub: id, ...claims }, { header })
  const grant = (client_assertion: string, more: Record<string, string> = {}) =>
    post({ grant_type: 'client_credentials', client_assertion_type: TYPE, client_assertion, ...more })
  const lastRefusal = () => logged().findLast(({ msg }) => msg === 'authentication refused')
  return {
    ...world,
    id,
    own,
    grant,
    platform: (claims = {}) => sign(signer, { iss: PLATFORM, ...claims }),
    lastRefusal,
  }
}

t.test('RFC 7523 §2.2: an application authenticates by a client assertion, for tokens and revocations', async (t) => {
  const { own, grant, platform, id, logged, post } = await createAssertionWorld(t)
  const issued = (await grant(await own())).json()
  t.equal(issued.client_id, id)
  t.match(logged().at(-1), { msg: 'token issued', authentication: 'jwt' })
  const answers = [
    await grant(await own({ n: 1 }, { typ: 'client-authentication+jwt' })),
    await grant(await own({ n: 2, aud: [PUBLIC_URL] }), { client_id: id }),
    await grant(await platform(), { client_id: id }),
  ]
  t.strictSame(
    answers.map(({ statusCode }) => statusCode),
    [200, 200, 200],
  )
  const assertion = { client_assertion_type: TYPE, client_assertion: await own({ n: 3 }) }
  const revoked = await post({ ...assertion, token: issued.access_token }, {}, '/v1/oauth/revoke')
  t.equal(revoked.statusCode, 200)
  t.match(logged().at(-1), { msg: 'token revoked', client_id: id })
})

t.test('RFC 7523bis: this server must be the only audience of a client assertion', async (t) => {
  const { own, grant, platform, id, lastRefusal } = await createAssertionWorld(t)
  for (const aud of [
    'https://x.example',
    [PUBLIC_URL, 'https://x.example'],
    `${PUBLIC_URL}/v1/oauth/accesstoken`,
    [],
  ]) {
    t.equal((await grant(await own({ aud }))).statusCode, 401)
    t.match(lastRefusal(), {
      reason: 'federated token mismatch',
      detail: /^aud is .*, not only "https:\/\/token\.example"$/,
    })
  }
  t.equal((await grant(await platform({ sub: 'x', aud: 'x' }), { client_id: id })).statusCode, 401)
  t.match(lastRefusal(), { detail: `aud is "x", not only "${PUBLIC_URL}"` })
})

t.test('RFC 7521 §4.2: without a client id the subject of the assertion is the client', async (t) => {
  const { own, grant, platform, lastRefusal } = await createAssertionWorld(t)
  t.equal((await grant(await platform())).statusCode, 401)
  t.match(lastRefusal(), { reason: 'unknown client', client_id: /^syst\.\.\. \(\d+ characters\)$/ })
  t.equal((await grant(await own(), { client_id: SUBJECT })).statusCode, 401)
  t.match(lastRefusal(), { reason: 'unknown client' })
})

t.test('RFC 6749 §2.3: a client assertion is the only credential, and a JWT', async (t) => {
  const { own, grant, credentials, post, id } = await createAssertionWorld(t, { acceptsBasic: true })
  const assertion = await own()
  const basic = { authorization: `Basic ${btoa(`${id}:${credentials.client_secret}`)}` }
  const form = { grant_type: 'client_credentials', client_assertion_type: TYPE, client_assertion: assertion }
  const twice = { error: 'invalid_request', error_description: /in two ways$/ }
  t.match((await grant(assertion, { client_secret: credentials.client_secret })).json(), twice)
  t.match((await post(form, basic)).json(), twice)
  t.equal((await post({ grant_type: 'client_credentials' }, basic)).statusCode, 200)
  const none = { error: 'invalid_client', error_description: 'A client must authenticate' }
  for (const more of [{ client_assertion_type: 'x' }, { client_assertion: 'x.y.z' }, { client_assertion: '' }])
    t.match((await grant(assertion, more)).json(), none)
  const { client_assertion_type: _, ...untyped } = form
  t.match((await post(untyped)).json(), none)
  const repeated = `${new URLSearchParams(form)}&client_assertion=x`
  for (const more of ['', '&client_id=a', '&client_id=a&client_secret=b'])
    t.match((await post(repeated + more)).json(), {
      error_description: 'The field client_assertion is given more than once',
    })
  t.match((await post(`${new URLSearchParams(form)}&client_assertion_type=x`)).json(), {
    error_description: 'The field client_assertion_type is given more than once',
  })
})

t.test('CLIENT_AUTHENTICATION: client assertions are discovered and accepted only if it names jwt', async (t) => {
  const algorithms = ['RS256', 'PS256', 'ES256', 'EdDSA']
  for (const [acceptsJwt, acceptsBasic, methods] of [
    [false, false, ['client_secret_post']],
    [true, false, ['client_secret_post', 'private_key_jwt']],
    [true, true, ['client_secret_basic', 'client_secret_post', 'private_key_jwt']],
  ] as const) {
    const { app, own, grant, credentials } = await createAssertionWorld(t, { acceptsJwt, acceptsBasic })
    const found = (await app.inject(METADATA)).json()
    for (const endpoint of ['token', 'revocation']) {
      t.strictSame(found[`${endpoint}_endpoint_auth_methods_supported`], methods)
      const expected = acceptsJwt ? algorithms : undefined
      t.strictSame(found[`${endpoint}_endpoint_auth_signing_alg_values_supported`], expected)
    }
    const { statusCode } = await grant(await own())
    t.equal(statusCode, acceptsJwt ? 200 : 400)
    if (acceptsJwt) continue
    const secret = { client_id: credentials.client_id, client_secret: credentials.client_secret }
    t.equal((await grant('ignored', secret)).statusCode, 200, 'as in release 1.0.0')
    t.equal(
      (await grant(await own(), { ...secret, client_secret: await own({ aud: [PUBLIC_URL, 'x'] }) })).statusCode,
      200,
    )
  }
})
