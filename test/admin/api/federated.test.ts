import t from 'tap'
import { createApiWorld } from '../../support/api.ts'
import { registrationJson } from '../../support/registration.ts'
import { createSigner, given, SUBJECT, sign } from '../../support/workload-issuer.ts'

const ISSUER = 'https://issuer.example'
const RULE = { issuer: ISSUER, subject: SUBJECT }
const SHOWN = { ...RULE, audience: null, claims: {}, keys: null }
const NEW = registrationJson({ client_id: 'a' })
const PATH = '/applications/a/federated'
/** The default of PUBLIC_URL. */
const AUDIENCE = 'http://localhost:8080'

t.test('API: a federated credential is a secret with a rule, and is added once', async (t) => {
  const { call, administration } = await createApiWorld(t)
  await call('POST', '/applications', { json: NEW })
  const signer = await createSigner()
  const keys = [{ ...signer.jwk, 'x5t#S256': 'x' }]
  const json = { ...RULE, audience: 'x', claims: { z: '1', 'a.b': '2' }, keys, ends_at: '2030-01-31T12:00:00+01:00' }
  const headers = { 'idempotency-key': 'k' }
  t.match(await call('POST', PATH, { json, headers }), { status: 201, body: { id: 2 } })
  const again = await call('POST', PATH, { json, headers })
  t.match(again, { status: 201, body: { id: 2 }, headers: { 'idempotent-replayed': 'true' } })
  const { secrets, federated } = (await call('GET', '/applications/a')).body
  const rule = { ...json, claims: { 'a.b': '2', z: '1' }, keys: given(signer) }
  const { ends_at: _, ...ofSecret } = rule
  t.strictSame(federated, [{ ...rule, ends_at: '2030-01-31T11:00:00.000Z' }])
  t.match(secrets, [
    { origin: 'generated', federated: null },
    { id: 2, origin: 'federated', last_used_at: null },
  ])
  t.strictSame(secrets[1].federated, ofSecret)
  t.equal(Object.keys(federated[0].claims).join(), 'a.b,z', 'in the order of their names')
  const [event] = (await call('GET', '/audit-events?limit=1')).body.audit_events
  t.match(event, { action: 'secret added', before: { federated: { length: 0 } }, after: { federated } })
  t.match(await call('POST', PATH, { json: { ...json, ends_at: null } }), { status: 201, body: { id: 3 } })
  t.match(
    await call('POST', PATH, { json, headers }),
    { body: { id: 2 } },
    'although another with the same rule is newer',
  )
  t.equal((await call('DELETE', '/applications/a/secrets/3')).status, 204)
  t.match(await call('POST', PATH, { json, headers }), { body: { id: 2 } })
  t.equal((await call('DELETE', '/applications/a/secrets/2')).status, 204)
  t.strictSame((await call('GET', '/applications/a')).body.federated, [])
  const [removed] = (await call('GET', '/audit-events?limit=1')).body.audit_events
  t.match(removed, { action: 'secret revoked', before: { federated } })
  for (let n = 0; n < 20; n++) await administration.federated.add('a', { ...RULE, subject: `s${n}` })
  t.match(await call('POST', PATH, { json: RULE }), {
    status: 409,
    body: { code: 'refused', detail: /already has 20 / },
  })
  t.equal((await call('POST', PATH, { json: RULE, as: 'viewer' })).status, 403)
  t.equal((await call('POST', '/applications/nobody/federated', { json: RULE })).status, 404)
  await call('POST', '/applications', { json: { ...NEW, client_id: 'c' } })
  const others = { json: RULE, headers: { 'idempotency-key': 'c' } }
  t.equal((await call('POST', '/applications/c/federated', others)).status, 201)
  await call('DELETE', '/applications/c')
  await call('POST', '/applications', { json: { ...NEW, client_id: 'c' } })
  t.equal((await call('POST', '/applications/c/federated', others)).status, 404, 'it is another application')
})

t.test('API: each wrong field of a federated credential is named, and nothing is changed', async (t) => {
  const { call, store } = await createApiWorld(t)
  await call('POST', '/applications', { json: NEW })
  const [before] = await store.listAuditEvents({ limit: 1 })
  const wrong: [pointer: string, json: object][] = [
    ...['http://issuer.example', 'https://a@b', 'https://a/?b', 'github', '', 'x'.repeat(501), 5].map(
      (issuer): [string, object] => ['#/issuer', { issuer }],
    ),
    ...['', 'a\nb', 'repo:a/b*', '*x', '**', 'a\u202eb'].map((subject): [string, object] => ['#/subject', { subject }]),
    ['#/audience', { audience: '' }],
    ...[{ '': 'x' }, { x: '' }, { x: 5 }, Object.fromEntries([...'abcdefghijk'].map((name) => [name, '1']))].map(
      (claims): [string, object] => ['#/claims', { claims }],
    ),
    ...[[], [{ kty: 'oct', k: 'x' }], [5], 'x'].map((keys): [string, object] => ['#/keys', { keys }]),
    ...['tomorrow', '2030-01-31', '2030-13-01T00:00:00Z', '2030-02-30T00:00:00Z', '+012030-01-31T00:00:00Z', 5].map(
      (ends_at): [string, object] => ['#/ends_at', { ends_at }],
    ),
    ['#/colour', { colour: 'blue' }],
  ]
  for (const [pointer, json] of wrong) {
    const { status, body } = await call('POST', PATH, { json: { ...RULE, ...json } })
    t.match({ status, body }, { status: 422, body: { errors: [{ pointer }] } }, JSON.stringify(json))
  }
  const settings = { ...NEW, client_id: undefined, status: 'active', suites: [] }
  for (const federated of [
    'x',
    [{ ...RULE, issuer: 'x' }],
    // PostgreSQL could not store it.
    [{ ...RULE, issuer: `${ISSUER}/\ud800` }],
    [RULE, RULE],
    Array.from({ length: 21 }, (_, n) => ({ ...RULE, subject: `s${n}` })),
  ]) {
    const put = await call('PUT', '/applications/a', { json: { ...settings, federated } })
    t.match(put, { status: 422, body: { errors: [{ pointer: /^#\/federated/ }] } })
    const post = await call('POST', '/applications', { json: { ...NEW, client_id: 'b', federated } })
    t.match(post, { status: 422, body: { errors: [{ pointer: /^#\/federated/ }] } })
    t.notMatch(post.body.detail, 'object')
  }
  t.strictSame(await store.listAuditEvents({ limit: 1 }), [before])
  const any = await createSigner()
  t.equal((await call('POST', PATH, { json: { ...RULE, issuer: 'a', keys: [any.jwk] } })).status, 201, 'keys are given')
})

t.test('API: an application with federated credentials gets no secret, and PUT sets which there are', async (t) => {
  const { call } = await createApiWorld(t)
  const other = { ...RULE, subject: 'other' }
  const { body } = await call('POST', '/applications', { json: { ...NEW, federated: [RULE, other] } })
  t.match(body, { client_id: 'a', client_secret: '' })
  t.match((await call('GET', '/applications/a/secrets')).body.secrets, [{ federated: SHOWN }, { federated: other }])
  const settings = { ...NEW, client_id: undefined, status: 'active', suites: [] }
  const put = async (federated?: object[]) =>
    (await call('PUT', '/applications/a', { json: { ...settings, federated } })).body
  t.strictSame((await put()).changed, [], 'as it is')
  t.strictSame((await put([other, RULE])).changed, [], 'in any order')
  const [changed] = [{ ...RULE, claims: { a: 'b' } }]
  const never = { audience: null, keys: null, ends_at: null }
  t.strictSame(await put([changed, other]), {
    changed: ['federated', 'secrets'],
    ...(await difference()),
  })
  t.match((await call('GET', '/applications/a')).body.secrets, [
    { state: 'revoked' },
    { state: 'active' },
    { id: 3, state: 'active' },
  ])

  async function difference() {
    const [{ before, after }] = (await call('GET', '/audit-events?limit=1')).body.audit_events
    t.match(before, { federated: [{ ...RULE, claims: {}, ...never }], secrets: [{ id: 1, revoked_at: null }] })
    t.match(after, { federated: [{ ...changed, ...never }], secrets: [{ id: 1 }, { id: 3 }] })
    return { before, after }
  }
})

t.test('API: a test says how far a JWT comes, and changes nothing', async (t) => {
  const { call, administration, store, lines } = await createApiWorld(t)
  const signer = await createSigner()
  await administration.applications.register({ clientId: 'a', federated: [{ ...RULE, keys: [signer.jwk] }] })
  const token = await sign(signer, { iss: ISSUER, aud: AUDIENCE })
  const [before] = await store.listAuditEvents({ limit: 1 })
  const test = async (token: string) => (await call('POST', `${PATH}/test`, { json: { token } })).body
  t.match(await test(token), {
    accepted: true,
    steps: [{ ok: true }, { ok: true }, { text: /^It is valid until/ }, { text: /credential 1\.$/ }],
  })
  const foreign = await test(await sign(signer, { iss: ISSUER, aud: 'x' }))
  t.match(foreign, { accepted: false })
  t.match(foreign.steps.at(-1), {
    ok: false,
    text: /^Federated token mismatch: aud is "x", not "http:\/\/localhost:8080"\.$/,
  })
  t.match((await test(`${token}\n`)).steps.at(-1), { ok: false, text: /a line break\.$/ }, 'as a token request would')
  t.equal((await call('POST', `${PATH}/test`, { json: { token }, as: 'viewer' })).status, 403)
  t.equal((await call('POST', `${PATH}/test`, { json: {} })).status, 422)
  t.equal((await call('POST', '/applications/b/federated/test', { json: { token } })).status, 404)
  t.strictSame(await store.listAuditEvents({ limit: 1 }), [before])
  t.notMatch(lines.join(), token)
  Object.assign(store, { findIssuer: async () => Promise.reject(new Error('unforeseen')) })
  t.equal((await call('POST', `${PATH}/test`, { json: { token } })).status, 500)
})
