import t from 'tap'
import { type ApiWorld, createApiWorld } from '../../support/api.ts'
import { AUDIT } from '../../support/on.ts'
import { refusal, refusedRequest } from '../../support/refusal.ts'
import { aRegistration, registrationJson } from '../../support/registration.ts'
import { serverNode } from '../../support/server-node.ts'
import { endingSecret, statisticsOf } from '../../support/statistics.ts'
import { START } from '../../support/world.ts'

const NEW = aRegistration({ name: 'Störe', developerEmail: 'dev@partner.example' })
const AT_START = '2027-01-15T08:00:00.000Z'

/** Resolves to the names of a list's rows and the next cursor. */
async function listed({ call }: ApiWorld, path: string) {
  const { next, ...lists } = (await call('GET', path)).body
  const [rows] = Object.values(lists) as { client_id?: string; id?: string; subject?: { id: string } }[][]
  return { ids: rows?.map(({ client_id, id, subject }) => client_id ?? subject?.id ?? id).join(), next }
}

t.test('API: lists can be filtered, and are read page by page', async (t) => {
  const world = await createApiWorld(t)
  const { applications, suites } = world.administration
  for (const suiteId of ['one', 'two', 'three']) await suites.register({ suiteId, name: suiteId })
  await suites.update('two', { labels: { owner: 'web' } })
  for (const clientId of ['a', 'b', 'c']) {
    world.clock.time += 1000
    const labels = clientId === 'b' ? {} : { owner: 'web', of: clientId }
    await applications.register({ ...NEW, clientId, labels, suites: clientId === 'b' ? ['one'] : ['one', 'two'] })
  }
  const { call } = world
  await call('PUT', '/applications/b/suspension')

  const lists: [path: string, first: string, rest: string | undefined][] = [
    ['/applications?limit=2', 'c,b', 'a'],
    ['/applications?limit=1&search=ST%C3%96RE&status=active', 'c', 'a'],
    ['/applications?status=suspended', 'b', undefined],
    ['/applications?suite=two&limit=1', 'c', 'a'],
    ['/applications?label=owner%3Dweb&limit=1', 'c', 'a'],
    ['/applications?label=owner&label=of%3Da', 'a', undefined],
    ['/suites?label=owner', 'two', undefined],
    ['/suites?limit=2', 'one,two', 'three'],
    ['/suites/one/applications?limit=2', 'a,b', 'c'],
    ['/suites/two/applications', 'a,c', undefined],
    ['/audit-events?limit=2', 'b,c', 'b,a'],
    ['/audit-events?actor=anna', 'b', undefined],
    ['/audit-events?until=2027-01-15T08:00:02Z&search=ST%C3%96', 'a', undefined],
    ['/audit-events?action=suite%20registered&limit=2', 'three,two', 'one'],
    ['/audit-events?actor=tester&subject=b', 'b', undefined],
    ['/audit-events?since=2027-01-15T08:00:02Z', 'b,c,b', undefined],
    [`/audit-events?since=${encodeURIComponent('2027-01-15T10:00:02.001+02:00')}`, 'b,c', undefined],
  ]
  for (const [path, first, rest] of lists) {
    const { ids, next } = await listed(world, path)
    t.equal(ids, first, path)
    if (rest === undefined) t.equal(next, null, path)
    else
      t.equal((await listed(world, `${path}&${path.includes('audit') ? 'before' : 'after'}=${next}`)).ids, rest, path)
  }
  const author = { actor: 'i#7', origin: 'console', remoteAddress: '192.0.2.1' } as const
  const added = { type: 'operator added', operator: 'i#7', role: 'viewer', email: 'eva@a.example' } as const
  await world.store.change(added, { ...AUDIT, author, at: world.clock.time })
  const { audit_events } = (await call('GET', '/audit-events?actor=eva%40a.example')).body
  t.match(audit_events, [{ actor: 'i#7', actor_email: 'eva@a.example' }])
  t.match((await call('GET', '/audit-events?request_id=none')).body, { audit_events: { length: 0 } })
  const [{ request_id }] = (await call('GET', '/audit-events?actor=anna')).body.audit_events
  t.match((await call('GET', `/audit-events?request_id=${request_id}`)).body.audit_events, [
    { actor: 'anna', request_id },
  ])
  t.match((await call('GET', '/audit-events?actor=tester')).body.audit_events[0], { actor_email: null })
  const { next, total } = (await call('GET', '/applications?label=owner&limit=1')).body
  t.equal(total, 2)
  t.match(await call('GET', `/applications?label=owner&after=${next}`), { body: { total: null } })
  t.match((await call('GET', '/suites/one/applications')).body.applications[0], { suites: ['one', 'two'] })
})

t.test('API: refused requests are listed one by one, newest first, and can be filtered', async (t) => {
  const world = await createApiWorld(t)
  const { call, store } = world
  await world.administration.applications.register({ ...NEW, clientId: 'a', suites: [] })
  await store.recordRefusedRequests([
    refusedRequest('r1'),
    refusedRequest('r2', { clientId: null, suite: 'store', reason: 'unknown token' }),
    refusedRequest('r3', { remoteAddress: '::1', endpoint: '/other' }),
  ])
  const list = async (query: string) => (await call('GET', `/refusals?${query}`, { as: 'viewer' })).body
  const ids = async (query: string) => (await list(query)).refusals.map((one: { request_id: string }) => one.request_id)
  const { refusals, next } = await list('limit=2')
  t.match(refusals, [
    { request_id: 'r3', client_id: 'a', kind: 'application', name: 'Störe', suite: null },
    { at: AT_START, request_id: 'r2', reason: 'unknown token', client_id: null, kind: null, suite: 'store' },
  ])
  t.strictSame(await ids(`limit=2&before=${next}`), ['r1'])
  for (const [query, found] of Object.entries({
    'request_id=r1': ['r1'],
    'client_id=a': ['r3', 'r1'],
    'suite=store': ['r2'],
    'reason=unknown+token': ['r2'],
    'endpoint=%2Fother': ['r3'],
    'remote_address=%3A%3A1&client_id=a': ['r3'],
    'search=st%C3%B6re': ['r3', 'r1'],
    'search=st%C3%B6re&limit=1': ['r3'],
    'since=2027-01-15T08:00:00Z&until=2027-01-15T08:00:00.001Z&reason=unknown+token': ['r2'],
    'until=2027-01-15T08:00:00Z': [],
  })) {
    t.strictSame(await ids(query), found, query)
  }
})

t.test('API: an invalid or repeated parameter is refused', async (t) => {
  const { call } = await createApiWorld(t)
  const details: Record<string, RegExp> = {
    'applications?limit=0': /limit must be a whole number from 1 to 200/,
    'applications?limit=1e1': /limit must be/,
    'applications?limit=': /limit must be/,
    'applications?limit=1&limit=2': /limit is given more than once/,
    'applications?label=': /label must be a key, or key=value/,
    'applications?after=': /after must be the value of next in the previous page/,
    'applications?after=MA': /after must be/,
    'audit-events?since=2027-01-15T08:00:00': /since must be/,
    'audit-events?since=2027-02-30T08:00:00Z': /since must be/,
    'audit-events?since=': /since must be/,
    'audit-events?limit=0&action=x&until=x&since=x': /since must be/,
    'audit-events?limit=0&action=x': /action must be/,
  }
  for (const [query, detail] of Object.entries(details)) {
    t.match(await call('GET', `/${query}`), { status: 400, body: { detail } }, query)
  }
})

t.test('API: it explains why a client is refused, and suggests API calls besides commands', async (t) => {
  const { call, store } = await createApiWorld(t)
  const diagnosis = async (id: string) => (await call('GET', `/applications/${id}/diagnosis`)).body
  await call('POST', '/suites', { json: { id: 'store', name: 'Store API' } })
  t.match(await diagnosis('store'), {
    diagnosis: /is a suite.* credentials of an application: POST \/admin\/v1\/applications\.$/,
    application: null,
    suite: { id: 'store' },
  })
  const json = registrationJson({ client_id: 'a/b', suites: [] })
  await call('POST', '/applications', { json })
  await store.recordRefusals([refusal('a/b', { reason: 'application not approved', suite: 'store' })])
  t.match(await diagnosis('a%2Fb'), {
    diagnosis: 'PUT /admin/v1/applications/a%2Fb/suites/{suite_id} (or "applications approve a/b',
    application: { client_id: 'a/b', secrets: [{ state: 'active' }], tokens_this_hour: 0 },
    suite: null,
    refusals: [{ reason: 'application not approved', suite: 'store' }],
  })
  await store.recordRefusals([refusal('a/b', { reason: 'token quota exceeded' })])
  const quota = 'PATCH /admin/v1/applications/a%2Fb (or "applications update a/b --quota N")'
  t.match((await diagnosis('a%2Fb')).diagnosis, quota)
  await call('PATCH', '/applications/a%2Fb', { json: { source_addresses: ['198.51.100.1'] } })
  await store.recordRefusals([refusal('a/b', { reason: 'address not allowed', remoteAddress: '192.0.2.1' })])
  const atOnce = 'POST to its /secrets with overlap_seconds 0 (or "secrets rotate a/b --overlap 0")'
  t.match((await diagnosis('a%2Fb')).diagnosis, atOnce)
  await call('PUT', '/applications/a%2Fb/suspension')
  const resume = 'DELETE /admin/v1/applications/a%2Fb/suspension (or "applications resume a/b")'
  t.match((await diagnosis('a%2Fb')).diagnosis, resume)
  await call('DELETE', '/applications/a%2Fb/suspension')
  await call('DELETE', '/applications/a%2Fb/secrets/2?force=true')
  t.match((await diagnosis('a%2Fb')).diagnosis, 'POST to its /secrets (or "secrets rotate a/b") makes a new one')
  await store.recordRefusals([refusal('part... (9 characters)', { isKnown: false, reason: 'unknown client' })])
  t.match((await diagnosis('partners')).diagnosis, 'Compare it with GET /admin/v1/applications.')
  t.match(await call('GET', '/applications/stor/diagnosis'), { status: 404, body: { detail: /No application/ } })
})

/** Statistics with values for the fields that are empty or null in the documented example. */
const FULL = {
  refusals: [{ kind: 'authentication', reason: 'wrong secret', count: 3 }],
  endingSecrets: { inADay: 1, inAWeek: 2, next: [endingSecret()] },
  certificates: [
    { listener: 'public', endsAt: START, problem: undefined },
    { listener: 'ops', endsAt: START, problem: 'No file.' },
  ],
  issuers: [{ issuer: 'https://a.example', problem: 'Away.', fetchedAt: START }],
  workers: { expected: 2, serving: 1, each: [{ worker: 2, cpuSeconds: 0.5, residentBytes: 7, lagSeconds: 0.01 }] },
  nodes: [
    { ...serverNode({ name: 'web-1:8080', startedAt: START, lastSeenAt: START }), isThis: true, isGone: false },
    { ...serverNode({ name: 'web-2:8080', startedAt: START, lastSeenAt: START }), isThis: false, isGone: true },
  ],
  store: {
    ...{ kind: 'sqlite', isUp: false, canWrite: false, canCheck: true, problem: 'Full.' },
    ...{ databaseBytes: 4096, logBytes: 1, lastBackupAt: START, auditHead: { id: 7, at: START, hash: 'h' } },
  },
}

t.test('Statistics API: every admin key may read the statistics; what is unknown is null', async (t) => {
  const { call, statistics } = await createApiWorld(t)
  const read = async () => (await call('GET', '/statistics', { as: 'viewer' })).body
  Object.assign(statistics, FULL)
  const next = [{ kind: 'suite', id: 'store', name: 'Store', ends_at: AT_START }]
  const last_minute = { tokens: 3, checks: 4, refusals: 5 }
  const times = { started_at: AT_START, last_seen_at: AT_START }
  const node = { version: '1.2.3', ...times, workers: { expected: 2, serving: 1 }, last_minute }
  t.match(await read(), {
    refusals: FULL.refusals,
    ending_secrets: { in_a_day: 1, in_a_week: 2, next },
    certificates: [
      { listener: 'public', ends_at: AT_START, problem: null },
      { listener: 'ops', ends_at: AT_START, problem: 'No file.' },
    ],
    issuers: [{ issuer: 'https://a.example', problem: 'Away.', fetched_at: AT_START }],
    workers: { expected: 2, serving: 1, each: [{ worker: 2, cpu_seconds: 0.5, resident_bytes: 7, lag_seconds: 0.01 }] },
    nodes: [
      { name: 'web-1:8080', is_this: true, is_gone: false, ...node },
      { name: 'web-2:8080', is_this: false, is_gone: true, ...node },
    ],
    store: {
      ...{ kind: 'sqlite', is_up: false, can_write: false, can_check: true, problem: 'Full.' },
      ...{
        database_bytes: 4096,
        log_bytes: 1,
        last_backup_at: AT_START,
        audit_head: { id: 7, at: AT_START, hash: 'h' },
      },
    },
  })
  const store = { ...statisticsOf().store, databaseBytes: undefined, logBytes: undefined }
  Object.assign(statistics, { liveTokens: undefined, endingSecrets: undefined, store })
  t.match(await read(), {
    live_tokens: null,
    ending_secrets: null,
    store: { database_bytes: null, log_bytes: null, last_backup_at: null, audit_head: null },
  })
})
