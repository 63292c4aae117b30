import t from 'tap'
import { createApiWorld } from '../../support/api.ts'
import { refusal } from '../../support/refusal.ts'
import { START } from '../../support/world.ts'

const AT_START = new Date(START).toISOString()
const NEW = { name: 'Störe front', developer_email: 'dev@partner.example' }

t.test('API: an application is registered, shown, changed and removed', async (t) => {
  const { call } = await createApiWorld(t)
  await call('POST', '/suites', { json: { id: 'store', name: 'Store API' } })
  const registered = await call('POST', '/applications', { json: NEW })
  t.match(registered, {
    status: 201,
    body: { ...NEW, client_id: /^\w{32}$/, client_secret: /^\w{40}$/, status: 'active', suites: ['store'] },
  })
  const { client_id: id } = registered.body
  const path = `/applications/${id}`
  t.equal(registered.headers.location, `/admin/v1${path}`)
  const shown = await call('GET', path)
  t.strictSame(shown.body, {
    client_id: id,
    ...NEW,
    status: 'active',
    suites: ['store'],
    created_at: AT_START,
    tokens_valid_from: null,
    last_token_at: null,
    secrets: [
      {
        id: 2,
        origin: 'generated',
        state: 'active',
        created_at: AT_START,
        ends_at: null,
        revoked_at: null,
        last_used_at: null,
      },
    ],
  })
  t.strictSame((await call('PATCH', path, { json: { name: 'Other' } })).body, { ...shown.body, name: 'Other' })
  t.match((await call('PATCH', path, { json: { developer_email: 'a@b.example' } })).body, {
    name: 'Other',
    developer_email: 'a@b.example',
  })
  t.match(await call('DELETE', path), { status: 204, body: undefined })
  t.match(await call('DELETE', path), {
    status: 404,
    body: { title: 'Not Found', status: 404, detail: `There is no application with the client id ${id}.` },
  })
})

t.test('API: an application is registered with its own client id, for some suites or none', async (t) => {
  const { call } = await createApiWorld(t)
  for (const id of ['one', 'two']) await call('POST', '/suites', { json: { id, name: id } })
  const suites = async (client_id: string, suites: string[]) =>
    (await call('POST', '/applications', { json: { ...NEW, client_id, suites } })).body.suites
  t.strictSame(await suites('a', ['two']), ['two'])
  t.strictSame(await suites('b', []), [])
  t.match(await call('POST', '/applications', { json: { ...NEW, client_id: 'a' } }), {
    status: 409,
    body: { detail: 'The id a is taken already.' },
  })
  t.match(await call('POST', '/applications', { json: { ...NEW, suites: ['one', 'three'] } }), {
    status: 422,
    body: { errors: [{ pointer: '#/suites', detail: /^There is no suite with the id three$/ }] },
  })
})

t.test('API: an invalid body is reported field by field, and nothing is changed', async (t) => {
  const { call, store } = await createApiWorld(t)
  const problems = async (json: unknown) => {
    const { status, body } = await call('POST', '/applications', { json })
    return [status, ...(body.errors ?? []).map(({ pointer, detail }: Record<string, string>) => `${pointer} ${detail}`)]
  }
  t.strictSame(await problems({}), [422, '#/name is missing', '#/developer_email is missing'])
  t.strictSame(await problems({ ...NEW, colour: 1 }), [422, '#/colour is not known here'])
  t.strictSame(await problems({ ...NEW, client_secret: 'x'.repeat(20) }), [422, '#/client_secret is not known here'])
  t.strictSame(await problems({ ...NEW, name: 1 }), [422, '#/name must be text'])
  t.strictSame(await problems({ ...NEW, suites: ['a', null] }), [422, '#/suites/1 must be text'])
  t.match(await problems({ name: ' ', developer_email: 'x', client_id: '..' }), [
    422,
    /^#\/name /,
    /^#\/developer_email /,
    /^#\/client_id .*must not be \. or \.\./,
  ])
  for (const json of [null, [], 'text', 1]) t.match(await problems(json), [422, /^# must be an object/])
  for (const payload of ['{', '{"name":"a","__proto__":{}}', '']) {
    const headers = { 'content-type': 'application/json' }
    t.ok([400, 422].includes((await call('POST', '/applications', { payload, headers })).status), payload)
  }
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  t.equal((await call('POST', '/applications', { payload: 'name=a', headers })).status, 415)
  t.equal(await store.countApplications(), 0)
})

t.test('API: applications are listed page by page, newest first', async (t) => {
  const { call } = await createApiWorld(t)
  for (const client_id of ['a', 'b', 'c']) await call('POST', '/applications', { json: { ...NEW, client_id } })
  await call('PUT', '/applications/b/suspension')
  const list = async (query: string) => {
    const { applications, next } = (await call('GET', `/applications${query}`)).body
    return { ids: applications.map(({ client_id }: { client_id: string }) => client_id).join(), next }
  }
  const first = await list('?limit=2')
  t.equal(first.ids, 'c,b')
  t.strictSame(await list(`?limit=2&after=${first.next}`), { ids: 'a', next: null })
  t.equal((await list('')).ids, 'c,b,a')
  t.equal((await list('?search=ST%C3%96RE&status=suspended')).ids, 'b')
  t.equal((await list('?search=nobody')).ids, '')
})

t.test('API: an invalid, unknown or repeated parameter is refused', async (t) => {
  const { call } = await createApiWorld(t)
  const details: Record<string, RegExp> = {
    'limit=0': /limit must be a whole number from 1 to 200/,
    'limit=201': /limit must be/,
    'limit=1e1': /limit must be/,
    'limit=': /limit must be/,
    'limit=1&limit=2': /limit must be given once/,
    'status=gone': /status must be active or suspended/,
    'after=': /after must be the value of next in the previous page/,
    'after=MA': /after must be/,
    'page=2': /page is not known here/,
  }
  for (const [query, detail] of Object.entries(details)) {
    t.match(await call('GET', `/applications?${query}`), { status: 400, body: { detail } }, query)
  }
})

t.test('API: suspending and resuming an application can be repeated', async (t) => {
  const { call, events } = await createApiWorld(t)
  await call('POST', '/applications', { json: { ...NEW, client_id: 'a' } })
  for (const [method, status] of [
    ['PUT', 'suspended'],
    ['PUT', 'suspended'],
    ['DELETE', 'active'],
    ['DELETE', 'active'],
  ] as const) {
    t.equal((await call(method, '/applications/a/suspension')).status, 204)
    t.equal((await call('GET', '/applications/a')).body.status, status)
  }
  const types = events.map(({ type }) => type).filter((type) => /suspended|resumed/.test(type))
  t.strictSame(types, ['application suspended', 'application resumed'], 'logged only if something changed')
})

t.test('API: all tokens of an application are revoked', async (t) => {
  const { call, clock } = await createApiWorld(t)
  await call('POST', '/applications', { json: { ...NEW, client_id: 'a' } })
  clock.time += 1000
  t.equal((await call('DELETE', '/applications/a/tokens')).status, 204)
  t.equal((await call('GET', '/applications/a')).body.tokens_valid_from, new Date(clock.time).toISOString())
})

t.test('API: an application is approved for suites, and approvals are withdrawn', async (t) => {
  const { call } = await createApiWorld(t)
  await call('POST', '/applications', { json: { ...NEW, client_id: 'a' } })
  for (const id of ['one', 'two']) await call('POST', '/suites', { json: { id, name: id } })
  const suites = async () => (await call('GET', '/applications/a')).body.suites
  t.strictSame(await suites(), [])
  for (const id of ['two', 'one', 'one']) t.equal((await call('PUT', `/applications/a/suites/${id}`)).status, 204)
  t.strictSame(await suites(), ['one', 'two'])
  for (let n = 0; n < 2; n++) t.equal((await call('DELETE', '/applications/a/suites/one')).status, 204)
  t.strictSame(await suites(), ['two'])
  for (const method of ['PUT', 'DELETE'] as const) {
    t.match(await call(method, '/applications/a/suites/three'), { status: 404, body: { detail: /no suite/ } })
    t.match(await call(method, '/applications/b/suites/one'), { status: 404, body: { detail: /no application/ } })
  }
})

t.test('API: it explains why a client is refused: an application, a suite, or an unknown client id', async (t) => {
  const { call } = await createApiWorld(t)
  await call('POST', '/suites', { json: { id: 'store', name: 'Store API' } })
  await call('POST', '/applications', { json: { ...NEW, client_id: 'partner' } })
  await call('PUT', '/applications/partner/suspension')
  t.match((await call('GET', '/applications/partner/diagnosis')).body, {
    client_id: 'partner',
    diagnosis: /suspended/,
    application: { client_id: 'partner', secrets: [{ state: 'active' }], tokens_this_hour: 0 },
    suite: null,
    refusals: [],
  })
  t.match((await call('GET', '/applications/store/diagnosis')).body, {
    diagnosis: /is a suite/,
    application: null,
    suite: { id: 'store' },
  })
  t.match(await call('GET', '/applications/partners/diagnosis'), { status: 404, body: { detail: /Is it partner\?/ } })
})

t.test('API: a diagnosis suggests API calls instead of commands', async (t) => {
  const { call, store } = await createApiWorld(t)
  const diagnosis = async (id: string) => (await call('GET', `/applications/${id}/diagnosis`)).body.diagnosis
  await call('POST', '/suites', { json: { id: 'store', name: 'Store API' } })
  t.match(await diagnosis('store'), /credentials of an application: POST \/admin\/v1\/applications\.$/)
  await call('POST', '/applications', { json: { ...NEW, client_id: 'a/b' } })
  await call('DELETE', '/applications/a%2Fb/suites/store')
  await store.recordRefusals([refusal('a/b', { reason: 'application not approved', suite: 'store' })])
  t.match(await diagnosis('a%2Fb'), 'PUT /admin/v1/applications/a%2Fb/suites/{suite_id} (or "applications approve a/b')
  await call('PUT', '/applications/a%2Fb/suspension')
  t.match(await diagnosis('a%2Fb'), 'DELETE /admin/v1/applications/a%2Fb/suspension (or "applications resume a/b")')
  await call('DELETE', '/applications/a%2Fb/suspension')
  const [{ id }] = (await call('GET', '/applications/a%2Fb/secrets')).body.secrets
  await call('DELETE', `/applications/a%2Fb/secrets/${id}?force=true`)
  t.match(await diagnosis('a%2Fb'), 'POST to its /secrets (or "secrets rotate a/b") makes a new one')
  await store.recordRefusals([refusal('part... (9 characters)', { isKnown: false, reason: 'unknown client' })])
  t.match(await diagnosis('partners'), 'Compare it with GET /admin/v1/applications;')
})

t.test('API: a client id may have any printable ASCII character, percent-encoded in a path', async (t) => {
  const { call } = await createApiWorld(t)
  await call('POST', '/suites', { json: { id: 'a.b~c', name: 'Suite' } })
  const all = Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)).join('')
  const ids = [all, '%2F', '%', '%25', 'a/b', '/', '//', '?', 'a?b=c', '#', ';', 'a;b', '...', 'a+b', '*', ':client_id']
  for (const client_id of [...ids, '%'.repeat(200), 'suites', 'secrets']) {
    const { headers } = await call('POST', '/applications', { json: { ...NEW, client_id } })
    const path = `/applications/${encodeURIComponent(client_id)}`
    t.equal(headers.location, `/admin/v1${path}`)
    t.equal((await call('GET', path)).body.client_id, client_id)
    t.equal((await call('DELETE', `${path}/suites/a.b~c`)).status, 204)
    t.equal((await call('GET', `${path}/secrets`)).status, 200)
    t.equal((await call('GET', `${path}/diagnosis`)).body.client_id, client_id)
    t.equal((await call('GET', `/audit-events?subject=${encodeURIComponent(client_id)}`)).body.audit_events.length, 2)
    t.equal((await call('DELETE', path)).status, 204, client_id)
  }
  for (const path of ['%zz', '%', '%E0%A4%A']) t.equal((await call('GET', `/applications/${path}`)).status, 400, path)
  t.equal((await call('GET', `/applications/${'a'.repeat(1025)}`)).status, 414)
})
