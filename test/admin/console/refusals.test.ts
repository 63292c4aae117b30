import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { createConsoleWorld, textOf } from '../../support/console-world.ts'
import { refusal, refusedRequest } from '../../support/refusal.ts'
import { START } from '../../support/world.ts'

/** A console with refusals of an application, a suite, an unregistered client id, and a caller without one. */
async function start(t: Test) {
  const world = await createConsoleWorld(t)
  const { store, administration } = world
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  await administration.applications.register({ clientId: 'shop/1', name: '<b>Shop', suites: [] })
  await store.recordRefusals([refusal('shop/1', { count: 7 })])
  await store.recordRefusedRequests([
    refusedRequest('r1', { clientId: 'shop/1' }),
    refusedRequest('r2', { clientId: 'abcd... (9 characters)', reason: 'unknown client' }),
    refusedRequest('r3', { clientId: null, suite: 'store', reason: 'unknown token', endpoint: '/v1/verify/:suite' }),
    refusedRequest('r4', { clientId: null, reason: 'made up', remoteAddress: '::1' }),
    refusedRequest('r5', { clientId: 'shop/1', suite: 'store', reason: 'application not approved' }),
  ])
  return { ...world, browser: await world.signIn('viewer') }
}

t.test('Refusals: without any, the page tells a search without a hit from a server that refused nothing', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const browser = await signIn('viewer')
  const shown = (query: string) => browser.text(`/refusals${query}`)
  t.match(await shown(''), 'No refusals Nothing was refused in the last 30 days.')
  t.match(await shown('?suite=store'), 'No matches All refusals')
})

/** The request ids in the list, in their order. */
const idsIn = (body: string) => [...body.matchAll(/[?;]open=(\w+)#row-/g)].map(([, id]) => id)

t.test('Refusals: they are listed newest first, with links to where they are mended', async (t) => {
  const { browser, store } = await start(t)
  const { body } = await browser('/refusals')
  t.strictSame(idsIn(body), ['r5', 'r4', 'r3', 'r2', 'r1'])
  await store.recordRefusedRequests([refusedRequest('r1', { clientId: 'shop/1' })])
  const twice = await browser.body('/refusals')
  t.notMatch(twice, 'The newest 20 of')
  t.equal(idsIn(twice).filter((id) => id === 'r1').length, 2)
  t.equal(twice.split('id="row-r1"').length, 2, 'an id occurs once')
  const shown = textOf(body)
  t.match(shown, /2027-01-15 08:00:00 UTC r1 wrong secret <b>Shop/)
  t.match(shown, 'abcd... (9 characters) not registered')
  t.notMatch(shown, 'swapped')
  t.match(shown, 'made up – /v1')
  t.match(body, 'href="/applications/shop%2F1"')
  const clientId = 'abcd... (40 characters)'
  await store.recordRefusedRequests([refusedRequest('r6', { clientId, reason: 'unknown client' })])
  t.match(await browser.text('/refusals?open=r6'), 'not registered; as long as a secret: were id and secret swapped?')
  t.match(shown, 'newest first Client Suite Reason Times First Last <b>Shop – The secret does not match wrong secret 7')
})

t.test('Refusals: of those by client, suite and reason, the newest 20 are shown', async (t) => {
  const { signIn, store, administration } = await createConsoleWorld(t)
  const ids = Array.from({ length: 21 }, (_, n) => `many-${n}`)
  for (const clientId of ids) await administration.applications.register({ clientId, name: clientId })
  await store.recordRefusals(ids.map((id) => refusal(id)))
  await store.recordRefusedRequests([refusedRequest('r1', { clientId: 'many-0' })])
  t.match(await (await signIn('viewer')).text('/refusals'), 'The newest 20 of 21.')
})

t.test('Refusals: they are filtered by client id, registered or not, reason, suite, endpoint, address', async (t) => {
  const { browser } = await start(t)
  for (const [query, ids] of Object.entries({
    'client_id=shop%2F1': ['r5', 'r1'],
    'client_id=abcdefghi': ['r2'],
    'client_id=abcdefgh': [],
    'client_id=SHOP': ['r5', 'r1'],
    'client_id=characters+ABCD': ['r2'],
    'client_id=nobody': [],
    'suite=store': ['r5', 'r3'],
    'reason=unknown+token&suite=store': ['r3'],
    'endpoint=%2Fv1%2Fverify%2F%3Asuite': ['r3'],
    'remote_address=%3A%3A1': ['r4'],
  })) {
    const { body } = await browser(`/refusals?${query}`)
    t.strictSame(idsIn(body), ids, query)
    t.equal(body.includes('No matches'), ids.length === 0)
    t.notMatch(body, 'By client, suite and reason')
  }
  const { body } = await browser('/refusals?reason=gone')
  for (const one of ['store', '/v1/oauth/introspect']) {
    t.match(body, `<option value="${one}"`)
  }
})

t.test('Refusals: they are filtered by time, to the minute', async (t) => {
  const { browser, store } = await start(t)
  await store.recordRefusedRequests([refusedRequest('late', { at: START + 90_000 })])
  for (const [query, ids] of Object.entries({
    'since=2027-01-15T08:01': ['late'],
    'since=2027-01-15T08:01:30': ['late'],
    'since=2027-01-15T08:02': [],
    'until=2027-01-15T08:00': ['r5', 'r4', 'r3', 'r2', 'r1'],
    'until=2027-01-15T08:00&client_id=shop': ['r5', 'r1'],
    'until=2027-01-15T07:59': [],
    'until=2027-01-15': ['late', 'r5', 'r4', 'r3', 'r2', 'r1'],
    'period=1h': ['late', 'r5', 'r4', 'r3', 'r2', 'r1'],
  })) {
    const { body } = await browser(`/refusals?${query}`)
    t.strictSame(idsIn(body), ids, query)
  }
  for (const wrong of ['yesterday', '2027-02-30T08:00', '2027-02-30', '2027-01-15T25:00']) {
    const { statusCode, body } = await browser(`/refusals?since=${wrong}`)
    t.equal(statusCode, 422, wrong)
    t.match(body, '<p class="error" id="field-since-error">Write a time like this')
    t.equal(await browser.status(`/refusals.csv?since=${wrong}`), 422)
  }
})

t.test('Refusals: all that match are a file', async (t) => {
  const { browser, store } = await start(t)
  const many = Array.from({ length: 450 }, (_, n) => refusedRequest(`n${n}`, { clientId: 'shop/1' }))
  await store.recordRefusedRequests(many)
  const { body } = await browser('/refusals?client_id=shop')
  t.match(body, 'href="/refusals.csv?client_id=shop"')
  t.notMatch(body, '/assets/live-', 'a search by name does not go on every second')
  for (const clientId of ['shop', 'shop%2F1']) {
    const rows = (await browser(`/refusals.json?client_id=${clientId}`)).json() as { request_id: string }[]
    t.strictSame([rows.length, rows[0]?.request_id, rows.at(-1)?.request_id], [452, 'n449', 'r1'], clientId)
  }
  const { body: csv, headers } = await browser('/refusals.csv?reason=made+up')
  t.match(headers, { 'content-disposition': /filename="refusals-2027-01-15\.csv"/ })
  t.match(
    csv,
    /^\uFEFFat,request_id,reason,endpoint,client_id,kind,name,suite,remote_address,detail\r\n2027-.*,r4,made up,.*\r\n$/,
  )
})

t.test('Refusals: a page has 50; the first is live, and the others are not', async (t) => {
  const { browser, store } = await start(t)
  await store.recordRefusedRequests(Array.from({ length: 50 }, (_, n) => refusedRequest(`n${n}`, { suite: 's' })))
  const first = await browser.body('/refusals?client_id=')
  t.strictSame([idsIn(first).length, idsIn(first)[0]], [50, 'n49'])
  t.match(first, '/assets/live-')
  const older = /href="(\/refusals\?before=\d+)"/.exec(first)?.[1] as string
  const second = await browser.body(older)
  t.strictSame(idsIn(second), ['r5', 'r4', 'r3', 'r2', 'r1'])
  t.notMatch(second, '/assets/live-')
  t.match(second, /href="\/refusals">Newer/)
  t.notMatch(await browser.body('/refusals?suite=s'), 'rel="next"')

  const [, of = ''] = /data-of="([^"]*)"/.exec(await browser.body('/refusals?suite=store')) ?? []
  const live = async () =>
    String(gunzipSync((await browser(`/live?window=a&new=yes&${of.replaceAll('&amp;', '&')}`)).rawPayload))
  t.strictSame(idsIn(await live()), ['r5', 'r3'])
})

t.test('Refusals: the details of one are beside the list, at an address of their own', async (t) => {
  const { browser } = await start(t)
  const { body } = await browser('/refusals?suite=store&before=5&open=r3')
  t.match(textOf(body), /Request r3 Close When .* unknown token .* Export CSV · JSON .* r3 unknown token/)
  t.match(body, '<a class="button" href="/refusals?suite=store&amp;before=5#row-r3" data-close>')
  t.match(body, '<a id="row-r3" href="/refusals?suite=store&amp;before=5&amp;open=r3#row-r3">')
  t.notMatch(body, /export\S+open=/)
  t.equal(await browser.location('/requests/a%2Fb'), '/refusals?open=a%2Fb', 'the address in 1.0.0')
  t.notMatch(await browser.body('/refusals'), 'data-close')
  t.notMatch(await browser.body('/suites?open=store'), 'data-close', 'a suite has a page')
})

t.test('Request: its id leads to why it was refused, and to the client', async (t) => {
  const { browser, administration, store } = await start(t)
  const { statusCode, body } = await browser('/refusals?open=r1')
  t.equal(statusCode, 200)
  t.match(textOf(body), 'When 2027-01-15 08:00:00 UTC Reason The secret does not match wrong secret Client <b>Shop')
  t.match(textOf(body), /<b>Shop now Go to the application There is a problem\./)
  t.match(textOf(body), 'approve it for a suite on its page')
  t.match(body, 'href="/refusals?client_id=shop%2F1"')
  await administration.applications.approve('shop/1', 'store')
  t.match(await browser.text('/refusals?open=r1'), '“Rotate secret” on its page')
  await store.recordRefusals([refusal('shop/1', { reason: 'token quota exceeded' })])
  t.match(await browser.text('/refusals?open=r1'), 'If it needs more: “Edit” on its page.')
  await administration.applications.suspend('shop/1')
  t.match(await browser.text('/refusals?open=r1'), '“Resume” on its page')
  const check = await browser.body('/refusals?open=r5')
  t.match(check, '<a class="button primary" href="/applications/shop%2F1">')
  const other = await browser.body('/refusals?open=r4')
  t.match(other, 'href="/refusals?remote_address=%3A%3A1"')
  t.match(textOf(other), 'made up. The log has more')
  t.match(await browser.text('/refusals?open=r2'), 'has this client id. Compare the client id')
  t.match(await browser.text('/refusals?open=r3'), 'expired long ago. The caller should get a new token')
  t.notMatch(other, 'Go to the')
  await store.recordRefusedRequests([refusedRequest('r7', { detail: 'The claim aud is missing' })])
  t.match(await browser.text('/refusals?open=r7'), 'Detail The claim aud is missing')
})

t.test('Request: one id may be of several requests; an unknown one says why it may be missing', async (t) => {
  const { browser, store } = await start(t)
  await store.recordRefusedRequests([refusedRequest('r1', { clientId: 'store' })])
  const { body } = await browser('/refusals?open=r1')
  t.match(body, 'Go to the suite')
  t.equal(body.match(/<div class="panel"><dl class="facts">/g)?.length, 2)
  const unknown = await browser.text('/refusals?open=nobody%2F')
  t.match(unknown, /No such refusal Close None of the .* has the request id nobody\/ \./)
})

t.test('Refusals: each reason that occurs is a view with its count, of those that the filter matches', async (t) => {
  const { browser, store } = await start(t)
  await store.recordRefusedRequests([refusedRequest('r6', { clientId: 'shop/1' })])
  const views = async (query: string) => {
    const { body } = await browser(`/refusals${query}`)
    return textOf(/<nav class="tabs" aria-label="Views">.*?<\/nav>/s.exec(body)?.[0] ?? '').trim()
  }
  t.equal(await views(''), 'All 6 wrong secret 2 application not approved 1 made up 1 unknown client 1 unknown token 1')
  t.equal(await views('?client_id=shop%2F1'), 'All 3 wrong secret 2 application not approved 1')
  t.equal(await views('?client_id=shop%2F1&reason=gone'), 'All 3 wrong secret 2 application not approved 1 gone')
  t.equal(await views('?client_id=SHOP&reason=gone'), 'All gone', 'names are not counted')
  t.match(await views('?reason=toString'), / toString$/)
  t.equal(await views('?since=2027-01-16T00:00'), 'All 0')
  const { body } = await browser('/refusals?reason=wrong+secret&suite=')
  t.match(body, '<a href="/refusals?reason=wrong+secret" aria-current="page">')
  t.match(body, '<input type="hidden" name="reason" value="wrong secret">')
  t.strictSame(idsIn(body), ['r6', 'r1'])
})
