import { hash } from 'node:crypto'
import t from 'tap'
import { createApiWorld, type Method, type Sent } from '../../support/api.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { registrationJson } from '../../support/registration.ts'
import { shiftClock } from '../../support/shift-clock.ts'
import { START } from '../../support/world.ts'

const NEW = registrationJson({ client_id: 'a' })
const SUSPENDED = { ...NEW, status: 'suspended' }
const KEY = { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' }
const DAY = 24 * 3_600_000
const YEAR = 365 * 86_400

const at = (time: number) => new Date(time).toISOString()

const A = '/applications/a'
const S = '/suites/s'
const SETTINGS = registrationJson({ name: 'C', status: 'active', suites: ['s'] })
const VIKTOR = '/operators/viktor'
const NONE = { length: 0 }
const REVOKED = { state: 'revoked', revoked_at: at(START) }
const APPROVED = { client_ids: ['a'], approved: true }
const ACTIVE = { state: 'active', revoked_at: null }
const RULE = { issuer: 'https://issuer.example', subject: 'repo:a/b:ref:refs/heads/*' }
const FEDERATED = { ...RULE, audience: null, claims: {}, keys: null, ends_at: null }

/**
 * A request for each route that makes a change, in an order in which each can be made. `again`: the status of the same request
 * once more, which changes nothing; undefined: it makes another change. `shown`: what is to be seen of it, at which path.
 */
const CHANGES: [
  action: string,
  request: [Method, path: string, json?: object],
  again: number | undefined,
  at: string,
  shown: object | 404,
][] = [
  ['suite registered', ['POST', '/suites', { id: 's', name: 'S' }], 409, S, { id: 's', name: 'S', secrets: [ACTIVE] }],
  ['suite updated', ['PATCH', S, { name: 'T' }], 200, S, { id: 's', name: 'T', created_at: at(START) }],
  ['application registered', ['POST', '/applications', { ...NEW, suites: [] }], 409, A, { ...NEW, status: 'active' }],
  ['application updated', ['PATCH', A, { name: 'B' }], 200, A, { ...NEW, name: 'B' }],
  ['suite updated', ['PATCH', S, { labels: { a: '1' }, note: 'N' }], 200, S, { labels: { a: '1' }, note: 'N' }],
  ['application updated', ['PATCH', A, { labels: { a: '1' }, quota: 5 }], 200, A, { labels: { a: '1' }, quota: 5 }],
  ['application updated', ['PATCH', A, { labels: { b: '2' } }], 200, A, { labels: { a: undefined, b: '2' } }],
  ['application updated', ['PATCH', A, { developer_email: 'b@b' }], 200, A, { name: 'B', developer_email: 'b@b' }],
  ['application suspended', ['PUT', `${A}/suspension`], 204, A, { status: 'suspended' }],
  ['application resumed', ['DELETE', `${A}/suspension`], 204, A, { status: 'active' }],
  ['application approved', ['PUT', `${A}/suites/s`], 204, A, { suites: ['s'] }],
  ['approval withdrawn', ['DELETE', `${A}/suites/s`], 204, A, { suites: NONE }],
  ['application approved', ['POST', `${S}/approvals`, APPROVED], 200, A, { suites: ['s'] }],
  ['approval withdrawn', ['POST', `${S}/approvals`, { ...APPROVED, approved: false }], 200, A, { suites: NONE }],
  ['application updated', ['PUT', A, SETTINGS], 200, A, { ...SETTINGS, client_id: 'a' }],
  ['all tokens revoked', ['DELETE', `${A}/tokens`], undefined, A, { tokens_valid_from: at(START) }],
  ['secret rotated', ['POST', `${A}/secrets`], undefined, A, { secrets: [{ ends_at: at(START + DAY) }, ACTIVE] }],
  ['secret revoked', ['DELETE', `${A}/secrets/2`], 204, `${A}/secrets`, { secrets: [REVOKED, ACTIVE] }],
  ['secret revoked', ['DELETE', `${A}/secrets/3?force=true`], 204, A, { secrets: [REVOKED, REVOKED] }],
  ['secret rotated', ['POST', `${S}/secrets`], undefined, S, { secrets: [{ ends_at: at(START + DAY) }, ACTIVE] }],
  ['secret revoked', ['DELETE', `${S}/secrets/1`], 204, `${S}/secrets`, { secrets: [REVOKED, ACTIVE] }],
  ['secret revoked', ['DELETE', `${S}/secrets/4?force=true`], 204, S, { secrets: [REVOKED, REVOKED] }],
  ['secret added', ['POST', `${A}/federated`, RULE], 409, A, { secrets: { 2: ACTIVE }, federated: [FEDERATED] }],
  [
    'application updated',
    ['PUT', A, { ...SETTINGS, federated: [] }],
    200,
    A,
    { secrets: { 2: REVOKED }, federated: NONE },
  ],
  ['application removed', ['DELETE', A], 404, A, 404],
  ['suite removed', ['DELETE', S], 404, S, 404],
  ['application registered', ['POST', '/applications', SUSPENDED], 409, A, SUSPENDED],
  ['session ended', ['DELETE', `${VIKTOR}/sessions/1`], 404, VIKTOR, { sessions: NONE }],
  ['operator key revoked', ['DELETE', `${VIKTOR}/keys/2`], 204, VIKTOR, { keys: [REVOKED] }],
  ['operator removed', ['DELETE', VIKTOR], 404, VIKTOR, 404],
]

t.test('API: every change has its effect once, and is an audit event with its author', async (t) => {
  const { call, lines, administration, context } = await createApiWorld(t)
  const { code } = await administration.operators.makeLoginCode('viktor')
  await context.signIn.logIn(code, { remoteAddress: '192.0.2.7', userAgent: 'Firefox', requestId: 'r' })
  const newest = async () => (await call('GET', '/audit-events?limit=1')).body.audit_events[0]
  for (const [action, [method, path, json], again, shownAt, shown] of CHANGES) {
    const what = `${method} ${path}`
    const { status, headers } = await call(method, path, { json })
    t.ok(status < 300, what)
    const seen = await call('GET', shownAt)
    t.match(shown === 404 ? seen.status : seen.body, shown, what)
    const event = await newest()
    const request_id = headers['x-request-id']
    const author = { actor: 'anna', origin: 'API', remote_address: '127.0.0.1', request_id }
    t.match(event, { action, at: at(START), ...author }, what)
    t.match(JSON.parse(lines.at(-1) as string), author, what)
    if (again === undefined) continue
    t.equal((await call(method, path, { json })).status, again, what)
    t.equal((await newest()).id, event.id, `${what} again`)
  }
})

t.test('API: a wrong entry of a list is refused with the words of its rule', async (t) => {
  const { call } = await createApiWorld(t)
  await call('POST', '/applications', { json: { ...NEW, client_id: 'a' } })
  for (const [json, detail] of [
    [{ public_labels: ['Tier'] }, /^The key of a label must be 1 to 63 .*: Tier\.$/],
    [{ source_addresses: ['host'] }, /^A source address must be .*: host\.$/],
  ] as const)
    t.match(await call('PATCH', '/applications/a', { json }), { status: 422, body: { detail } })
})

t.test('API: many applications are approved in one call, unless one is unknown or they are too many', async (t) => {
  const { call, store, lines } = await createApiWorld(t)
  await call('POST', '/suites', { json: { id: 's', name: 'S' } })
  const ids = Array.from({ length: 120 }, (_, n) => `a-${n}`)
  for (const client_id of ids) await call('POST', '/applications', { json: { ...NEW, client_id } })
  const approvals = (client_ids: unknown, approved: unknown = true) =>
    call('POST', '/suites/s/approvals', { json: { client_ids, approved } })
  const [before] = await store.listAuditEvents({ limit: 1 })
  for (const [ids, approved, detail] of [
    [['a-1', 'gone', 'a-2', 'g<b>'], true, /^There is no application .* gone; There is no application .* g<b>\.$/],
    [Array(501).fill('a-1'), true, 'The field client_ids must have at most 500 entries.'],
    [['a-1'], 'yes', 'The field approved must be true or false.'],
  ] as const) {
    t.match(await approvals(ids, approved), { status: 422, body: { detail } })
  }
  t.equal((await call('POST', '/suites/nowhere/approvals', { json: APPROVED })).status, 404)
  t.strictSame(await store.listAuditEvents({ limit: 1 }), [before], 'nothing was changed')

  await approvals(['a-0'])
  const { body } = await approvals([...ids, 'a-5'])
  t.strictSame(body, { client_ids: ids.slice(1) }, 'those whose approval changed')
  const events = await store.listAuditEvents({ limit: 200 })
  t.equal(events.filter(({ action }) => action === 'application approved').length, 120, 'an audit event for each')
  t.match(JSON.parse(lines.at(-1) as string), { msg: 'application approved', client_id: 'a-119', suite: 's' })
  t.strictSame((await approvals(ids, false)).body, { client_ids: ids })
  t.strictSame((await approvals([])).body, { client_ids: [] })
})

t.test('If-Match: every change of an application or suite makes another ETag; an old one is refused', async (t) => {
  const { call, clock, administration } = await createApiWorld(t)
  const changes = CHANGES.filter(
    ([, [, path]]) => path.startsWith(A) || (path.startsWith(S) && path !== `${S}/approvals`),
  )
  await administration.suites.register({ suiteId: 's', name: 'S' })
  await administration.applications.register({ clientId: 'a' })
  let old = '"x"'
  for (const [, [method, path, json]] of changes) {
    const owner = path.startsWith(A) ? A : S
    const what = `${method} ${path}`
    const { etag = '' } = (await call('GET', owner)).headers
    for (const ifMatch of [old, `W/${etag}`, 'nonsense', '']) {
      t.equal((await call(method, path, { json, headers: { 'if-match': ifMatch } })).status, 412, `${what} ${ifMatch}`)
    }
    t.equal((await call('GET', owner)).headers.etag, etag, 'nothing was changed')
    clock.time += 1000
    t.ok((await call(method, path, { json, headers: { 'if-match': `${old}, ${etag}` } })).status < 300, what)
    t.not((await call('GET', owner)).headers.etag, etag, what)
    old = etag
  }
})

t.test(
  'If-Match: what nothing manages has the version that 1.0.0 gives it, which may run beside this one',
  async (t) => {
    const { call, administration } = await createApiWorld(t)
    await administration.suites.register({ suiteId: 's', name: 'S' })
    await administration.applications.register({ clientId: 'a', suites: ['s'] })
    const ofApplication =
      'client_id name developer_email status suites created_at tokens_valid_from labels note quota secrets'
    for (const [path, names] of [
      [A, ofApplication],
      [S, 'id name created_at labels note secrets'],
    ] as const) {
      const version = async () => {
        const { body, headers } = await call('GET', path)
        const secrets = body.secrets.map(({ id, origin, created_at, ends_at, revoked_at }: Record<string, unknown>) => {
          return { id, origin, created_at, ends_at, revoked_at }
        })
        const fields = Object.fromEntries(names.split(' ').map((name) => [name, { ...body, secrets }[name]]))
        return { etag: headers.etag, old: `"${hash('sha256', JSON.stringify(fields), 'base64url').slice(0, 22)}"` }
      }
      const { etag, old } = await version()
      t.equal(etag, old)
      await call('PATCH', path, { json: { managed_by: 'a.yaml' } })
      const managed = await version()
      t.not(managed.etag, managed.old)
    }
  },
)

t.test('If-Match: usage makes no other ETag, any state is *, and a change answers with its ETag', async (t) => {
  const { call, clock, administration, store } = await createApiWorld(t)
  await administration.suites.register({ suiteId: 's', name: 'S' })
  await administration.applications.register({ clientId: 'a', suites: ['s'] })
  for (const path of [A, S]) {
    const first = await call('GET', path)
    clock.time += 1000
    await store.recordSecretUses([1, 2].map((secretId) => ({ secretId, lastUsedAt: clock.time })))
    const used = await call('GET', path)
    t.notSame(used.body, first.body)
    t.equal(used.headers.etag, first.headers.etag)
    const changed = await call('PATCH', path, { json: { name: 'B' }, headers: { 'if-match': '*' } })
    t.equal(changed.status, 200)
    t.not(changed.headers.etag, first.headers.etag)
    t.equal(changed.headers.etag, (await call('GET', path)).headers.etag)
  }
  const headers = { 'if-match': '*' }
  for (const [path, json] of [
    ['/suites', { id: 'new', name: 'N' }],
    [`${S}/approvals`, { client_ids: ['a'], approved: false }],
  ] as const) {
    const { status, body } = await call('POST', path, { json, headers })
    t.match({ status, body }, { status: 400, body: { detail: /^If-Match/ } }, 'without a version, it is not ignored')
  }
  t.match([await store.findSuite('new'), await store.findApplication('a')], [undefined, { suites: ['s'] }])
})

t.test('PUT: an application is set to what is sent, or with dry_run only compared', async (t) => {
  const { call, administration, events, store } = await createApiWorld(t)
  for (const suiteId of ['r', 's']) await administration.suites.register({ suiteId, name: suiteId })
  await administration.applications.register({ clientId: 'a', suites: ['r'] })
  const json = registrationJson({ name: 'B', status: 'suspended', suites: ['s', 's'] })
  const difference = {
    changed: ['name', 'status', 'suites'],
    before: { name: 'A', status: 'active', suites: ['r'] },
    after: { name: 'B', status: 'suspended', suites: ['s'] },
  }
  const same = { changed: [], before: {}, after: {} }
  const state = async () => [
    await store.findApplication('a'),
    await store.listAuditEvents({ limit: 100 }),
    events.length,
  ]
  const before = await state()
  t.strictSame((await call('PUT', `${A}?dry_run=true`, { json })).body, difference)
  t.strictSame(await state(), before, 'nothing is changed, and nothing is logged')
  t.strictSame((await call('PUT', A, { json })).body, difference)
  t.match(await store.findApplication('a'), { name: 'B', status: 'suspended', suites: ['s'] })
  const [event] = await store.listAuditEvents({ limit: 1 })
  t.match(event, { action: 'application updated', before: difference.before, after: difference.after })
  t.match(events.at(-1), { type: 'application updated', clientId: 'a', changed: difference.changed })
  const after = await state()
  for (const path of [A, `${A}?dry_run=true`, `${A}?dry_run=false`]) {
    t.strictSame((await call('PUT', path, { json })).body, same, path)
  }
  t.strictSame(await state(), after, 'there is no event if nothing differs')
  const refused: [path: string, json: object, status: number, pointer?: string][] = [
    ['/applications/nobody', json, 404],
    [A, { ...json, status: undefined }, 422, '#/status'],
    [A, { ...json, suites: undefined }, 422, '#/suites'],
    [A, { ...json, status: 'removed' }, 422, '#/status'],
    [A, { ...json, suites: ['nowhere'] }, 422, '#/suites'],
    [A, { ...json, suites: 'all' }, 422, '#/suites'],
    [A, { ...json, name: ' ' }, 422, '#/name'],
  ]
  for (const [path, wrong, status, pointer] of refused) {
    for (const target of [path, `${path}?dry_run=true`]) {
      const answer = await call('PUT', target, { json: wrong })
      t.match(answer, { status, ...(pointer && { body: { errors: [{ pointer }] } }) }, JSON.stringify(wrong))
    }
  }
  const approvals = { client_ids: ['a'], approved: true }
  const approve = async (query = '') => (await call('POST', `/suites/r/approvals${query}`, { json: approvals })).body
  t.strictSame(await approve('?dry_run=true'), { client_ids: ['a'] })
  t.strictSame(await state(), after)
  t.strictSame(await approve(), { client_ids: ['a'] })
  t.strictSame(await approve('?dry_run=true'), { client_ids: [] })
  t.match(events.at(-1), { type: 'application approved', clientId: 'a', suite: 'r' })
  const headers = { 'if-match': '"x"' }
  t.equal((await call('PUT', `${A}?dry_run=true`, { json: { ...json, name: 'C' }, headers })).status, 412)
  t.match(await store.findApplication('a'), { name: 'B' })
})

for (const [owners, registration] of Object.entries({
  applications: { ...NEW, client_id: 'owner' },
  suites: { id: 'owner', name: 'A' },
})) {
  t.test(`API: the secrets of ${owners} are rotated with an overlap of a day where none is given`, async (t) => {
    const { call } = await createApiWorld(t)
    await call('POST', `/${owners}`, { json: registration })
    const path = `/${owners}/owner/secrets`
    const empty = { payload: '', headers: { 'content-type': 'application/json' } }
    const overlaps = [
      ...[{}, { json: {} }, { json: null }, empty].map((sent) => [sent, DAY] as const),
      [{ json: { overlap_seconds: YEAR } }, 365 * DAY],
      [{ json: { overlap_seconds: 0 } }, 0],
    ] as const
    for (const [sent, overlap] of overlaps) {
      const { body } = await call('POST', path, sent)
      t.match(body, { client_id: 'owner', client_secret: /^\w{40}$/, others_end_at: at(START + overlap) })
    }
    for (const overlap_seconds of [-1, 1.5, '60', null]) {
      t.equal((await call('POST', path, { json: { overlap_seconds } })).status, 422, String(overlap_seconds))
    }
    const last = (await call('GET', path)).body.secrets.at(-1).id
    const others = owners === 'applications' ? 'suites' : 'applications'
    const refused: [Method, string, number, RegExp?][] = [
      ['DELETE', `${path}/${last}`, 409, /last active one .* To revoke it anyway, use force=true\.$/],
      ['DELETE', `${path}/${last}?force=false`, 409],
      ...['0', '1e0', '9'.repeat(20)].map((id): [Method, string, number] => ['DELETE', `${path}/${id}`, 404]),
      ['GET', `/${others}/owner/secrets`, 404],
      ['POST', `/${others}/owner/secrets`, 404],
      ['DELETE', `/${others}/owner/secrets/1`, 404],
    ]
    for (const [method, target, status, detail = /./] of refused) {
      t.match(await call(method, target), { status, body: { detail } }, `${method} ${target}`)
    }
  })
}

t.test('Idempotency-Key: a repeated request with it gets the same answer, and another one is refused', async (t) => {
  const { call, clock, administration } = await createApiWorld(t)
  const { adminKey } = await administration.operators.addKey('anna', 2 * DAY)
  const post = (sent: Sent) => call('POST', '/applications', { headers: KEY, ...sent })
  const first = await post({ json: NEW })
  t.equal(first.headers['idempotent-replayed'], undefined)
  clock.time += DAY - 1
  const payload = JSON.stringify(NEW, null, 2)
  const repeated = await post({ payload, headers: { ...KEY, 'content-type': 'application/json' } })
  t.match(repeated, { status: 201, headers: { 'idempotent-replayed': 'true', location: first.headers.location } })
  t.strictSame(repeated.body, first.body)
  const headers = { ...KEY, authorization: `Bearer ${adminKey}` }
  t.equal((await post({ as: 'none', json: NEW, headers })).status, 422, 'of another key')
  const other = await post({ json: { ...NEW, client_id: 'other' } })
  t.match(other, { status: 422, body: { detail: /was used for another request/ } })
})

t.test('Idempotency-Key: it has 1 to 255 printable ASCII characters', async (t) => {
  const { call } = await createApiWorld(t)
  const { client_id: _, ...json } = NEW
  const statusOf = async (key: string) =>
    (await call('POST', '/applications', { json, headers: { 'idempotency-key': key } })).status
  for (const key of ['a', '"quoted"', 'two words', 'x'.repeat(255)]) t.equal(await statusOf(key), 201, key)
  for (const key of ['', 'x'.repeat(256), 'schlüssel']) t.equal(await statusOf(key), 400, key)
})

t.test('API: a client id may have any printable ASCII character, percent-encoded in a path', async (t) => {
  const { call } = await createApiWorld(t)
  await call('POST', '/suites', { json: { id: 'a.b~c', name: 'Suite' } })
  const all = Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)).join('')
  const ids = [all, '%2F', '%', 'a/b', '//', '?', '#', ';', '...', ':client_id', '%'.repeat(200), 'secrets']
  for (const client_id of ids) {
    const { headers } = await call('POST', '/applications', { json: { ...NEW, client_id, suites: 'all' } })
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
})

t.test('API: while the clocks of server and database differ, no secret is rotated with an overlap', async (t) => {
  const { createDatabase } = await startDatabases()
  const { call } = await createApiWorld(t, { DATABASE_URL: await createDatabase() })
  await call('POST', '/applications', { json: NEW })
  shiftClock(t, -2 * 3_600_000)
  const detail = /^The overlap would end at a wrong time: this machine's clock .* set both by NTP\.$/
  const refused = { status: 503, headers: { 'retry-after': '5' }, body: { code: 'store_unavailable', detail } }
  t.match(await call('POST', `${A}/secrets`), refused)
  t.match((await call('GET', `${A}/secrets`)).body.secrets, { ...[ACTIVE], length: 1 })
  t.equal((await call('POST', `${A}/secrets`, { json: { overlap_seconds: 0 } })).status, 201)
})
