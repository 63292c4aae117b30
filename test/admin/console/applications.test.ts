import t, { type Test } from 'tap'
import {
  actionsOf,
  copyOf,
  createConsoleWorld,
  textOf,
  unescaped,
  valuesOf,
  withoutIcons,
} from '../../support/console-world.ts'
import { refusal } from '../../support/refusal.ts'
import { registrationJson } from '../../support/registration.ts'

const HOUR = 3_600_000
const HOSTILE = `<script>alert(1)</script>"'><b onx=1>&amp;`

/** A console with this many applications; a-0 is the oldest. */
async function worldOf(t: Test, count: number) {
  const world = await createConsoleWorld(t)
  for (let n = 0; n < count; n++) {
    const developerEmail = `dev${n}@partner.example`
    await world.administration.applications.register({
      name: `Shop ${n}`,
      developerEmail,
      clientId: `a-${n}`,
      suites: [],
    })
  }
  return { ...world, browser: await world.signIn() }
}

const idsOf = (body: string) => valuesOf(body, 'client_id')

const idsIn = (body: string) => [...body.matchAll(/<a href="\/applications\/(a-\d+)"/g)].map(([, id]) => id)

t.test('Applications: they are found by text and status, and an empty result offers to clear the search', async (t) => {
  const { browser, administration } = await worldOf(t, 3)
  await administration.applications.suspend('a-1')
  const found = async (query: string) => idsIn(await browser.body(`/applications?${query}`))
  t.strictSame(await found('search=SHOP+2'), ['a-2'])
  t.strictSame(await found('status=suspended'), ['a-1'])
  t.strictSame(await found('status=toString&sort=toString'), ['a-2', 'a-1', 'a-0'], 'an unknown status is ignored')
  const { body } = await browser('/applications?search=shop&status=suspended')
  t.match(body, 'name="search" type="search" value="shop"')
  t.match(body, /href="[^"]*status=suspended" aria-current="page">Suspended<.*>They get no tokens/s)
  t.match(body, '<a class="button" href="/applications?status=suspended">Clear</a>')

  await administration.applications.resume('a-1')
  const nothing = await browser.body(`/applications?search=${encodeURIComponent(HOSTILE)}`)
  t.match(textOf(nothing), `No matches No application matches: none has “ ${HOSTILE} ” in its name`)
  t.match(nothing, 'Clear the search')
  t.notMatch(nothing, /<script>alert|See why it is refused of it/, 'no client id has spaces')
  const bodyOf = (query: string) => browser.body(`/applications?${query}`)
  t.match(nothing, 'the search finds them, too')
  await administration.applications.remove('a-1')
  t.match(textOf(await bodyOf('search=shop+1')), 'This list has no removed applications')
  t.match(await bodyOf('search=shop+1'), '<a href="/search?q=shop+1">the search finds them, too</a>')
  t.equal((await browser('/search?q=shop%201')).headers.location, '/applications/a-1')
  t.notMatch(await bodyOf('status=suspended'), 'the search finds')
  t.match(await bodyOf('search=a%2Fb%22cd'), 'href="/applications/a%2Fb%22cd">See why it is refused')
  t.match(textOf(await bodyOf('search=x&status=suspended')), 'No application matches: none has “ x ” in its name')
  t.match(textOf(await bodyOf('status=suspended')), 'No application matches now')
})

t.test('Applications: a row has suites, tokens and the last token; a tooltip has all suites', async (t) => {
  const { browser, administration, store, clock } = await worldOf(t, 1)
  const { key } = await administration.applications.show('a-0')
  const hour = Math.floor(clock.time / HOUR)
  await store.addTokenCounts([{ applicationKey: key, hour, issued: 1, refused: 0, lastTokenAt: clock.time }])
  await store.addUsage([{ clientId: 'a-0', tokens: 1234, checks: 0, refusals: 0 }], clock.time)
  t.match(await browser.text('/applications'), / heavy none 0 s ago 1,234 /)
  for (let n = 0; n < 5; n++) await administration.suites.register({ suiteId: `s-${n}`, name: `S ${n}` })
  await administration.applications.approve('a-0', 's-0', 's-1', 's-2', 's-3', 's-4')
  const { body } = await browser('/applications')
  t.match(textOf(body), ' s-0, s-1, s-2, s-3, s-4 ')
  t.match(body, 'title="s-0, s-1, s-2, s-3, s-4"')
})

t.test('Applications: failing ones are marked and found, as their pages say', async (t) => {
  const { browser, administration, store, clock } = await worldOf(t, 4)
  await administration.applications.suspend('a-3')
  const refused = ['a-0', 'a-1', 'a-3'].map((id) => refusal(id, { count: 3, firstAt: clock.time, lastAt: clock.time }))
  await store.recordRefusals(refused)
  const { key } = await administration.applications.show('a-1')
  const hour = Math.floor(clock.time / HOUR)
  const count = { applicationKey: key, hour, issued: 1, refused: 0, lastTokenAt: clock.time + 1 }
  await store.addTokenCounts([count])
  clock.time += HOUR / 5
  const { body } = await browser('/applications')
  const badges = withoutIcons(body).matchAll(/<span class="badge (\w+)">(active|failing|suspended|no token yet)</g)
  const states = [...badges].map(([, kind, state]) => `${kind} ${state}`)
  const unused = 'quiet no token yet'
  t.strictSame(states, ['quiet suspended', unused, 'good active', 'bad failing', unused])
  const failing = await browser.body('/applications?status=failing')
  t.strictSame(idsIn(failing), ['a-0'])
  t.match(textOf(failing), ' 1 application ')
})

t.test('Applications: they are sorted by registration or name, filtered by suite, and counted', async (t) => {
  const { browser, administration } = await worldOf(t, 4)
  const { applications, suites } = administration
  await applications.update('a-2', { name: 'Alpha' })
  await suites.register({ suiteId: 'store', name: 'Store API' })
  for (const clientId of ['a-0', 'a-3']) await applications.approve(clientId, 'store')
  for (const [query, ids, total] of [
    ['', ['a-3', 'a-2', 'a-1', 'a-0'], 4],
    ['sort=name', ['a-2', 'a-0', 'a-1', 'a-3'], 4],
    ['suite=store', ['a-3', 'a-0'], 2],
    ['suite=store&sort=name&from=1', ['a-3'], 2],
    ['suite=nowhere', [], 0],
    ['from=x&sort=else', ['a-3', 'a-2', 'a-1', 'a-0'], 4],
  ] as const) {
    const { body } = await browser(`/applications?${query}`)
    t.strictSame(idsIn(body), ids, query)
    if (total > 0) t.match(textOf(body), ` ${total} applications `)
  }
  const { body } = await browser('/applications?suite=store&sort=name')
  t.match(body, '<option value="store" selected>')
  t.match(body, '<input type="hidden" name="sort" value="name">', 'the filter keeps the order')
  const headers = unescaped(body)
  t.match(headers, 'aria-sort="ascending"><a href="/applications?suite=store">Application</a>')
  t.match(headers, '<a href="/applications?suite=store&sort=used">Last token</a>')
  t.match(
    await browser.body('/applications?sort=tokens'),
    'aria-sort="descending"><a href="/applications">Tokens/h</a>',
  )
})

t.test('Applications: heavy and quiet ones, and those whose secret ends, are marked and found', async (t) => {
  const { browser, administration, store, clock } = await worldOf(t, 5)
  const { applications, secrets, suites } = administration
  const keyOf = async (clientId: string) => (await applications.show(clientId)).key
  const DAY = 24 * HOUR
  const use = async (clientId: string, ago: number, issued: number) => {
    const lastTokenAt = clock.time - ago
    const count = { applicationKey: await keyOf(clientId), hour: Math.floor(lastTokenAt / HOUR), refused: 0 }
    await store.addTokenCounts([{ ...count, issued: 1, lastTokenAt }])
    await store.addUsage([{ clientId, tokens: issued, checks: 0, refusals: 0 }], lastTokenAt)
  }
  await use('a-0', 0, 361)
  await use('a-1', 7 * DAY + 1, 999)
  await use('a-2', 7 * DAY, 1)
  await use('a-3', 1.5 * HOUR, 360)
  await applications.suspend('a-4')
  await suites.register({ suiteId: 'a-s', name: 'A suite' })
  for (const [owner, overlap] of Object.entries({ 'a-2': 2 * DAY, 'a-s': DAY, 'a-3': DAY })) {
    await secrets.rotate(owner, overlap)
    const [, made] = await secrets.list(owner)
    if (owner !== 'a-3') await secrets.revoke(owner, made?.id as number)
  }
  const [stillUsed] = await secrets.list('a-3')
  await store.recordSecretUses([{ secretId: stillUsed?.id as number, lastUsedAt: clock.time }])
  const [only] = await secrets.list('a-1')
  await secrets.revoke('a-1', only?.id as number, { force: true })
  for (const [status, ids] of Object.entries({ heavy: ['a-0'], quiet: ['a-1'], ending: ['a-3', 'a-2'], else: 5 })) {
    const { body } = await browser(`/applications?status=${status}`)
    t.strictSame(typeof ids === 'number' ? idsIn(body).length : idsIn(body), ids, status)
  }
  const { body } = await browser('/applications?sort=used')
  t.strictSame(idsIn(body), ['a-0', 'a-3', 'a-2', 'a-1', 'a-4'], 'the last token first')
  t.equal(idsIn(await browser.body('/applications?sort=tokens'))[0], 'a-0', 'most tokens first')
  const rows = [...body.matchAll(/class="badges">(.*?)<\/span><\/div>/g)].map(([, badges = '']) =>
    textOf(badges).trim(),
  )
  t.strictSame(rows, ['heavy', 'secret ends', 'secret ends', 'no secret quiet'])
})

t.test('Applications: many are approved for a suite at once, or their approvals withdrawn', async (t) => {
  const { browser, administration, signIn } = await worldOf(t, 52)
  const { suites } = administration
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const path = '/applications?for=store'
  const { body } = await browser(path)
  t.match(body, '<h1><span>Approvals for <bdi class="name" title="Store API">')
  t.strictSame([idsOf(body).length, valuesOf(body, 'matching'), valuesOf(body, 'target')], [50, ['all'], ['store']])
  const [action = ''] = actionsOf(body)
  const target = 'store'
  const send = (action: string, form: Record<string, string | string[]>) =>
    browser.location(action, { form: { target, ...form } })
  const approved = async () => (await suites.listApproved('store')).map(({ clientId }) => clientId)

  /** Answers the question with what it sends. */
  const confirm = async (asked: string) => {
    const names = ['target', 'change', 'confirmed', 'matching', 'client_id']
    const form = Object.fromEntries(names.map((name) => [name, valuesOf(asked, name)]))
    return send(actionsOf(asked)[0] as string, form)
  }

  const every = await browser.text(path, { form: { target, matching: 'all', change: 'approve' } })
  t.match(every, /Approve 52 applications .* Which ones \w.* a-51 .* a-2 And 2 more/)
  const both = { target, client_id: ['a-3', 'a-51'], change: 'approve' }
  const question = await browser.body(action, { form: both })
  t.match(
    textOf(question),
    /Approve 2 applications for Store API \? Their tokens are valid .* afterwards\. \w.* a-51 \w.* a-3 Approve/,
    'it names them',
  )
  t.strictSame([valuesOf(question, 'client_id'), await approved()], [both.client_id, []], 'nothing is changed yet')
  const done = String(await confirm(question))
  t.match(done, /^\/applications\?for=store&changed=\d+$/)
  t.match(await browser.text(done), ' 2 applications are approved for store , from the next check on. Undo')
  for (const wrong of ['many-approved.500', 'toString'])
    t.notMatch(await browser.body(`${path}&done=${wrong}`), 'class="note good"', wrong)
  t.strictSame(await approved(), ['a-3', 'a-51'])
  const ids = async (query: string) => idsOf(await browser.body(`${path}&${query}`))
  t.strictSame(await ids('suite=store'), ['a-51', 'a-3'])
  t.strictSame([(await ids('suite=!store')).length, (await ids('suite=!store&from=49')).at(-1)], [50, 'a-0'])

  const matching = actionsOf(await browser.body(`${path}&search=a-1`))[0] as string
  const all = await browser.body(matching, { form: { target, matching: 'all', change: 'approve' } })
  t.match(textOf(all), 'Approve 11 applications for Store API ?')
  t.strictSame([valuesOf(all, 'matching'), valuesOf(all, 'client_id')], [['all'], []])
  await administration.applications.approve('a-1', 'store')
  const again = { target, matching: 'all', change: 'approve', confirmed: '11' }
  t.match(await browser.text(matching, { form: again }), 'Approve 10 applications', 'it is another number now')
  await confirm(await browser.body(matching, { form: again }))
  t.strictSame((await approved()).length, 13, 'all that match')
  t.equal(await send(action, { client_id: 'a-3', change: 'approve' }), `${path}&done=nothing-changed`)
  t.match(await send(action, { client_id: 'a-2', change: 'approve' }), /changed=/, 'one is approved without a question')

  const withdrawn = { target, client_id: ['a-3', 'a-4'], change: 'withdraw' }
  const asked = await browser.body(`${action}&from=50`, { form: withdrawn })
  t.match(textOf(asked), 'Withdraw the approval of 1 application for Store API ?')
  t.strictSame(valuesOf(asked, 'client_id'), withdrawn.client_id)
  t.equal((await approved()).length, 14, 'nothing is changed yet')
  const one = String(await confirm(asked))
  t.match(one, /^\/applications\?for=store&from=50&changed=\d+$/)
  t.match(await browser.text(one), ' 1 application is no longer approved for store , from')
  t.equal(await send(action, { client_id: 'a-3', change: 'withdraw' }), `${path}&done=nothing-changed`)
  const unknown = { target, client_id: ['a-4', 'gone'], change: 'approve', confirmed: '2' }
  t.equal(await browser.status(action, { form: unknown }), 422)
  t.notOk((await approved()).includes('a-4'), 'nothing was changed')
  const more = await browser.body(action, {
    form: { target, client_id: ['a-4', 'a-5', 'gone'], change: 'approve' },
  })
  t.strictSame(valuesOf(more, 'client_id'), ['a-4', 'a-5'], 'one that was removed is left out')
  t.match(textOf(more), 'Approve 2 applications')
  t.match(String(await confirm(more)), /changed=/)
  const past = await browser.text('/applications?from=5000')
  t.match(past, 'The list ends on an earlier page.')
  t.equal(await browser.status('/applications?for=nowhere'), 404)
  t.notMatch(await (await signIn('viewer')).body(path), /client_id|Approvals for/)
  t.equal(await (await signIn('viewer')).status(action, { form: { change: 'approve' } }), 403)
})

t.test('Applications: those ticked in the plain list are approved for a chosen suite, or withdrawn', async (t) => {
  const { browser, administration, signIn } = await worldOf(t, 3)
  t.strictSame(idsOf(await browser.body('/applications')), [], 'without suites there is nothing to do')
  await administration.suites.register({ suiteId: 'store', name: '<b>Store' })
  const { body } = await browser('/applications?search=shop')
  t.strictSame(
    [idsOf(body), idsIn(body)],
    [
      ['a-2', 'a-1', 'a-0'],
      ['a-2', 'a-1', 'a-0'],
    ],
  )
  t.match(body, '<option value="">For which suite?</option><option value="store">&lt;b&gt;Store</option>')
  t.strictSame(idsOf(await (await signIn('viewer')).body('/applications')), [])
  const [action = ''] = actionsOf(body)
  const form = { target: 'store', client_id: ['a-0', 'a-2'], confirmed: '2' }
  const done = String(await browser.location(action, { form: { ...form, change: 'approve' } }))
  t.match(done, /^\/applications\?search=shop&changed=\d+$/)
  const approved = await browser.body(done)
  t.match(textOf(approved), ' 2 applications are approved for store , from')
  t.match(approved, 'data-ticks-done', 'so that they are not ticked any more')
  const undone = await browser.location(action, { form: { undo: valuesOf(approved, 'undo') } })
  t.match(await browser.text(String(undone)), ' 2 applications are no longer approved for store ')
  t.equal(await browser.status(action, { form: { ...form, target: '', change: 'approve' } }), 404)
})

t.test('Applications: after each change, whoever made it, the list asks for states of another version', async (t) => {
  const { browser, context, administration } = await worldOf(t, 1)
  const asked: unknown[][] = [[], []]
  const { readTrouble, readStates } = context.statistics
  Object.assign(context.statistics, {
    readTrouble: (version: unknown) => {
      asked[0]?.push(version)
      return readTrouble()
    },
    readStates: (version: unknown) => {
      asked[1]?.push(version)
      return readStates()
    },
  })
  const change = [() => {}, () => administration.applications.suspend('a-0'), () => {}]
  for (const make of change) {
    await make()
    await browser.body('/applications')
  }
  const [before, after, later] = asked[0] as number[]
  t.strictSame([after, later], [Number(before) + 1, Number(before) + 1])
  t.strictSame(asked[1], asked[0])
})

t.test('Applications: each view has its count, unless something else is searched for', async (t) => {
  const { browser, administration, store, context, clock } = await worldOf(t, 6)
  const { applications, secrets, suites } = administration
  await applications.suspend('a-5')
  await suites.register({ suiteId: 's', name: 'S' })
  const time = clock.time
  const lost = ['a-0', 's'].map((id) => refusal(id, { count: 3, firstAt: time, lastAt: time }))
  await store.recordRefusals(lost)
  for (const owner of ['a-1', 's']) {
    await secrets.rotate(owner, HOUR)
    await secrets.revoke(owner, Number((await secrets.list(owner))[1]?.id))
  }
  for (const [clientId, ago] of Object.entries({ 'a-2': 0, 'a-3': 1.5 * HOUR })) {
    const { key } = await applications.show(clientId)
    const count = { applicationKey: key, hour: Math.floor((time - ago) / HOUR), refused: 0, issued: 361 }
    await store.addTokenCounts([{ ...count, lastTokenAt: time - ago }])
    await store.addUsage([{ clientId, tokens: 361, checks: 0, refusals: 0 }], time - ago)
  }
  const countsIn = (body: string) =>
    [...body.matchAll(/>(\w[\w ]*) <span class="hint">(\d+)</g)].map(([, view, count]) => `${view} ${count}`)
  const all = ['All 6', 'Failing 1', 'Heavy 2', 'Quiet 3', 'Secret ends 1', 'Suspended 1']
  t.strictSame(countsIn(await browser.body('/applications')), all)
  t.strictSame(countsIn(await browser.body('/applications?for=s&sort=name')), all)
  for (const query of ['search=shop', 'label=x', 'suite=s'])
    t.strictSame(countsIn(await browser.body(`/applications?${query}`)), [])
  const { readStates } = context.statistics
  const before = await readStates()
  context.statistics.readStates = async () => before
  await applications.suspend('a-4')
  t.match(countsIn(await browser.body('/applications?status=suspended')), [...all.slice(0, 5), 'Suspended 2'])
  const heavy = await browser.body('/applications?status=heavy&label=')
  t.strictSame(idsIn(heavy), ['a-3', 'a-2'])
  Object.assign(context.statistics, { readStates: async () => undefined, readTrouble: async () => undefined })
  t.strictSame(countsIn(await browser.body('/applications')), ['All 6', 'Failing 0', 'Secret ends 1'], 'not known yet')
})

t.test('Applications: with none ticked the list says so, and keeps what was searched for', async (t) => {
  const { browser, administration } = await worldOf(t, 2)
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  const [action = ''] = actionsOf(await browser.body('/applications?for=store&search=shop+1'))
  for (const change of ['approve', 'withdraw']) {
    const { statusCode, body } = await browser(action, { form: { change } })
    t.equal(statusCode, 422)
    t.match(textOf(body), 'Nothing was changed. Tick at least one application, and then choose what to do with it.')
    t.strictSame([idsOf(body), valuesOf(body, 'search')[0]], [['a-1'], 'shop 1'])
  }
})

t.test('Applications: the message about a change undoes it, unless something else has changed since', async (t) => {
  const { browser, administration, signIn, store } = await worldOf(t, 60)
  const { applications, suites } = administration
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const approved = async () => (await suites.listApproved('store')).map(({ clientId }) => clientId)
  const form = { target: 'store', matching: 'all', change: 'approve', confirmed: '60' }
  const list = String(await browser.location('/applications?for=store&search=shop', { form }))
  t.equal((await approved()).length, 60)

  const undo = async (url: string) => {
    const { body } = await browser(url)
    return browser(actionsOf(body)[0] as string, { form: { undo: valuesOf(body, 'undo') } })
  }
  t.notMatch(await (await signIn('viewer')).body(list), 'Undo')
  await administration.operators.add('bert', 'admin')
  t.notMatch(await (await signIn('bert')).body(list), 'Undo', 'it is of another operator')
  const undone = String((await undo(list)).headers.location)
  t.strictSame(await approved(), [])
  t.match(undone, /^\/applications\?for=store&search=shop&changed=\d+$/)
  t.match(await browser.text(undone), '60 applications are no longer approved for store , from the next check on. Undo')

  await applications.update('a-7', { name: '<b>Other' })
  await applications.remove('a-8')
  const partly = await undo(undone)
  t.match(
    textOf(partly.body),
    'Undone for 58 applications. Left unchanged, because something else has changed them since: 2 applications. a-8 a-8 <b>Other a-7',
  )
  t.match(partly.body, 'href="/applications?for=store&amp;search=shop">Back')
  t.equal((await approved()).length, 58)
  const never = await undo(undone)
  t.match(textOf(never.body), /Undone for 0 applications\..* 60 applications\..* And 10 more\./)
  t.equal((await approved()).length, 58)

  const [event] = await store.listAuditEvents({ subject: 'a-7', limit: 1 })
  const [login] = await store.listAuditEvents({ subject: 'anna', limit: 1 })
  for (const id of [event?.id, login?.id, 1, 999_999, 'x']) {
    t.equal(await browser.status('/applications', { form: { undo: String(id) } }), 404, String(id))
    t.notMatch(await browser.body(`/applications?for=store&changed=${id}`), 'Undo')
  }
})

/** A console with two suites, and its form for a new application. */
async function newcomers(t: Test) {
  const world = await createConsoleWorld(t)
  for (const suiteId of ['store', 'product']) {
    await world.administration.suites.register({ suiteId, name: `The ${suiteId}` })
  }
  const browser = await world.signIn()
  /** The form as a browser submits it right after loading. */
  async function form(fields: Record<string, string | string[]> = {}) {
    const { body } = await browser('/new-application')
    const [request_key = ''] = valuesOf(body, 'request_key')
    const required = registrationJson({ name: 'Shop', developer_email: 'dev@partner.example', client_id: '' })
    return { request_key, ...required, suite: valuesOf(body, 'suite'), ...fields }
  }
  const send = (form: Record<string, string | string[]>) => browser('/new-application', { form })
  return { ...world, browser, form, send }
}

t.test('New application: the form has no suite ticked, and the focus in its first field', async (t) => {
  const { browser, administration } = await newcomers(t)
  const { body } = await browser('/new-application')
  t.equal(body.match(/name="suite" value="[a-z]+">/g)?.length, 2)
  t.match(body, /<details><summary>Use an existing client id/)
  t.match(body, /<input id="field-name"[^>]* autofocus/)
  t.match(body, 'A suite is an API.')
  for (const suiteId of ['store', 'product']) await administration.suites.remove(suiteId)
  t.match(await browser.body('/new-application'), 'There are no suites yet')
})

t.test('New application: the response says how to use the credentials', async (t) => {
  const { form, send, administration } = await newcomers(t)
  const { body } = await send(await form())
  const [clientId, secret] = [copyOf(body, 'client-id'), copyOf(body, 'client-secret')]
  t.equal(
    copyOf(body, 'curl'),
    `curl 'http://localhost:8080/v1/oauth/accesstoken' \\
  -d 'grant_type=client_credentials' \\
  --data-urlencode 'client_id=${clientId}' \\
  --data-urlencode 'client_secret=${secret}'`,
  )
  t.match(textOf(body), 'Use it at store')
  const said = copyOf(body, 'use')
  t.equal(said, `curl -i 'http://localhost:8080/v1/oauth/verify/store' \\\n  -H "Authorization: Bearer ACCESS_TOKEN"`)
  t.match(textOf(body), 'Copy the secret now. When you leave this page, it cannot be shown again.')
  const registered = { name: 'Shop', developerEmail: 'dev@partner.example', suites: ['store', 'product'] }
  t.match(await administration.applications.show(clientId), registered)

  const own = (await send(await form({ client_id: `it's<b>&x`, suite: [] }))).body
  t.match(copyOf(own, 'curl'), `--data-urlencode 'client_id=it'\\''s<b>&x' \\`, 'it is quoted for the shell')
  t.match(textOf(own), 'It is not approved for any suite')
})

t.test('New application: whatever its form of changes has can be set at once', async (t) => {
  const { form, send, administration } = await newcomers(t)
  const limits = { source_addresses: '192.0.2.0/24\r\n::1', report_only: 'source_addresses quota', quota: '5' }
  const { body } = await send(await form({ ...limits, labels: 'tier=gold', public_labels: 'tier' }))
  t.match(await administration.applications.show(copyOf(body, 'client-id')), {
    sourceAddresses: ['192.0.2.0/24', '::1'],
    reportOnly: ['source_addresses', 'quota'],
    quota: 5,
    publicLabels: ['tier'],
  })
  const wrong = await send(await form({ source_addresses: 'here' }))
  t.match(
    wrong.body,
    /<details open><summary>Labels, note.*id="field-source_addresses-error">A source address must be/s,
  )
})
