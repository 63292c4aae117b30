import t from 'tap'
import type { Author } from '../../../src/domain/audit-event.ts'
import { createConsoleWorld, textOf, unescaped, valuesOf } from '../../support/console-world.ts'
import { application } from '../../support/newcomers.ts'
import { AUDIT } from '../../support/on.ts'
import { aRegistration } from '../../support/registration.ts'

const DAY = 24 * 60 * 60_000

/** The text after the first heading. */
const read = (body: string) => textOf(body.slice(body.indexOf('<h1>')))

t.test('Audit: changes are listed newest first, with author, origin and differences', async (t) => {
  const { signIn, context } = await createConsoleWorld(t)
  const author: Author = { actor: 'bert', origin: 'API', remoteAddress: '192.0.2.1', requestId: 'request-1' }
  const { applications, suites } = context.administration(author)
  const { clientId } = await applications.register(aRegistration({ name: 'Old' }))
  await applications.update(clientId, { name: 'New' })
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const browser = await signIn('viewer')
  const { body } = await browser('/audit?actor=bert')
  t.match(read(body), /Application updated .* Application registered/)
  t.match(read(body), 'bert API, 192.0.2.1, request request-1')
  t.match(body, 'name: <del><bdi>Old</bdi></del> → <ins><bdi>New</bdi></ins>')
  for (const href of [`/applications/${clientId}`, '/audit?actor=bert', '/suites/store'])
    t.match(body, `<a href="${href}">`)
  const all = await browser.body('/audit')
  t.match(all, '<a href="/operators#operator-viktor">')
  t.match(read(all), 'Operator logged in')
})

t.test('Audit: who used a hand-over link is not its operator', async (t) => {
  const { signIn, context } = await createConsoleWorld(t)
  const author: Author = { actor: 'bert', origin: 'hand-over link', remoteAddress: '192.0.2.1', requestId: 'request-1' }
  await context.administration(author).suites.register({ suiteId: 'store', name: 'Store API' })
  t.match(read(await (await signIn()).body('/audit')), 'link made by bert hand-over link, 192.0.2.1')
})

t.test('Audit: applications and suites are shown with name and id, even if they were removed', async (t) => {
  const { signIn, context, administration, store } = await createConsoleWorld(t)
  const { applications, suites, operators } = administration
  const browser = await signIn()
  await applications.register({ clientId: 'same-id', name: 'Old' })
  await applications.update('same-id', { name: 'New' })
  await suites.register({ suiteId: 'store', name: 'Store API' })
  await applications.register({ clientId: 'gone', name: 'Was here' })
  await applications.remove('gone')
  /** How often a page has a part. */
  const count = (body: string, part: string) => body.split(part).length - 1
  const shown = (address: string, name: string, id: string) =>
    `<a href="${address}"><bdi class="name" title="${name}">${name}</bdi></a><div class="hint"><bdi class="cut${address.startsWith('/audit') ? '' : ' code'}" title="${id}">${id}</bdi></div>`
  const { body } = await browser('/audit')
  t.equal(count(body, shown('/applications/same-id', 'New', 'same-id')), 2, 'with its current name')
  t.match(body, shown('/suites/store', 'Store API', 'store'))
  t.equal(count(body, shown('/applications/gone', 'Was here', 'gone')), 2)

  await operators.add('same-id', 'viewer')
  await applications.update('same-id', { name: 'Newer' })
  await operators.addKey('same-id', DAY)
  const both = await browser.body('/audit?subject=same-id')
  t.equal(count(both, shown('/applications/same-id', 'Newer', 'same-id')), 3, 'not mixed up with an operator')
  t.equal(count(both, '<a href="/operators#operator-same-id"><bdi class="cut" title="same-id">'), 2)

  const actor = 'https://login.example#7'
  const author = { actor, origin: 'console', remoteAddress: '192.0.2.1', requestId: 'r' } as const
  const added = { type: 'operator added', operator: actor, role: 'admin', email: 'anna' } as const
  await store.change(added, { ...AUDIT, author, at: context.now() })
  const { body: foreign } = await browser('/audit')
  const named = shown(`/audit?actor=${encodeURIComponent(actor)}`, 'anna (login.example)', actor)
  t.match(foreign, named, 'the provider’s user name proves nothing')

  const events = await store.listAuditEvents({ limit: 50 })
  store.listAuditEvents = async () => events.map((event) => ({ ...event, before: null, after: {} }))
  t.match(await browser.body('/audit'), '<a href="/applications/gone"><bdi class="cut code" title="gone">')
})

t.test('Audit: who has left is still named, and found by the email address, in the page and the files', async (t) => {
  const { signIn, context, store } = await createConsoleWorld(t)
  const actor = 'https://login.example#7'
  const author = { actor, origin: 'console', remoteAddress: '192.0.2.1', requestId: 'r' } as const
  const added = { type: 'operator added', operator: actor, role: 'admin', email: 'Lea@company.example' } as const
  await store.change(added, { ...AUDIT, author, at: context.now() })
  await context.administration(author).suites.register({ suiteId: 'store', name: 'Store API' })
  await context.administration(author).operators.remove(actor)
  const browser = await signIn('viewer')
  for (const query of ['actor=Lea%40company.example', 'actor=lea%40', 'subject=lea', 'subject=store']) {
    const { body } = await browser(`/audit?${query}`)
    const name = '<bdi class="name" title="Lea@company.example (login.example)">'
    t.match(body, `?actor=${encodeURIComponent(actor)}">${name}`, query)
    t.match(body, /title="(Store API|https:[^"]*)"/, query)
  }
  const rows = (await browser('/audit.json?actor=Lea%40company.example')).json()
  t.match(rows, [
    { action: 'operator removed', actor_email: 'Lea@company.example', subject_name: 'Lea@company.example' },
    { action: 'suite registered', actor, actor_email: 'Lea@company.example' },
    { action: 'operator added' },
  ])
})

t.test('Audit: what one click has changed is one row, which leads to the rows of each', async (t) => {
  const { signIn, administration, store } = await createConsoleWorld(t)
  const { suites } = administration
  const applications = Array.from({ length: 507 }, (_, n) => application(`a-${n}`, { suites: [] }))
  await store.register({ suites: [], applications }, AUDIT)
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const browser = await signIn()
  const form = { target: 'store', matching: 'all', change: 'approve', confirmed: '507' }
  await browser('/applications?for=store', { form })
  await suites.update('store', { name: 'Shop API' })
  const rows = (body: string) => body.match(/<tr role="row"><th role="rowheader"/g)?.length
  for (const query of ['', '?actor=anna', '?actor=nna', '?action=application+approved']) {
    const { body } = await browser(`/audit${query}`)
    t.match(textOf(body), / Application approved 507 applications anna console, .* suite: store /, query)
    t.equal(body.match(/Application approved<\/div>/g)?.length, 1, query)
  }
  const [, href = ''] = /href="([^"]*)">507 applications/.exec(await browser.body('/audit')) ?? []
  const each = await browser(href.replaceAll('&amp;', '&'))
  t.equal(rows(each.body), 50)
  t.match(textOf(each.body), ' Application approved Application a-0 a-0 anna')
  t.equal((await browser(href.replace('/audit', '/audit.json').replaceAll('&amp;', '&'))).json().length, 507)
  const one = await browser('/audit?subject=a-7&action=application+approved')
  t.match(textOf(one.body), ' Application approved Application a-7 a-7 anna', 'who looks for one finds it')
})

t.test('Audit: the details of a change, of one or of many, are beside the list', async (t) => {
  const { signIn, administration, store } = await createConsoleWorld(t)
  const browser = await signIn()
  await administration.suites.register({ suiteId: 'store', name: 'Store API', note: 'Ask Zoe' })
  const [made] = await store.listAuditEvents({ subject: 'store', limit: 1 })
  const one = await browser.text(`/audit?subject=store&open=${made?.id}`)
  t.match(one, /Suite registered Close When 2027-01-15 08:00:00 UTC Target Store API store Who .* note: Ask Zoe/)
  t.match(await browser.body('/suites/store'), `href="/audit?subject=store&amp;open=${made?.id}#row-${made?.id}"`)
  const applications = ['a', 'b'].map((id) => application(id, { suites: [] }))
  await store.register({ suites: [], applications }, AUDIT)
  await browser('/applications', { form: { target: 'store', matching: 'all', change: 'approve', confirmed: '2' } })
  const [second, first] = await store.listAuditEvents({ limit: 2 })
  t.match(await browser.text(`/audit?open=${second?.id}`), /approved Close When .* Target 2 applications Who anna/)
  t.match(await browser.text(`/audit?open=${first?.id}`), /approved Close When .* Target Application b b Who anna/)
  for (const id of ['0', '999', 'x']) t.match(await browser.text(`/audit?open=${id}`), 'No such change Close', id)
})

t.test('Audit: it can be filtered by day, actor and subject, and the form keeps the filter', async (t) => {
  const { signIn, administration, clock } = await createConsoleWorld(t)
  await administration.suites.register({ suiteId: 'early', name: 'Early' })
  clock.time += 2 * DAY
  await administration.suites.register({ suiteId: 'late', name: 'Late' })
  const browser = await signIn()
  const since = read(await browser.body('/audit?since=2027-01-16'))
  t.match(since, ' late ')
  t.notMatch(since, ' early ')
  const one = await browser('/audit?subject=early&actor=+tester+&since=')
  t.match(read(one.body), ' early ')
  t.notMatch(read(one.body), ' late ')
  t.match(one.body, 'name="actor" type="text" value="tester"')
  t.match(one.body, '<a class="button" href="/audit">Clear</a>')
  for (const wrong of ['yesterday', '2027-13-01', '2027-02-30']) {
    const { statusCode, body } = await browser(`/audit?since=${wrong}&before=${wrong}`)
    t.equal(statusCode, 422, wrong)
    t.match(body, '<p class="error" id="field-since-error">Write a time like this')
  }
})

t.test('Audit: it can be filtered by a period, which other filters keep, as the links to other pages do', async (t) => {
  const { signIn, administration, clock } = await createConsoleWorld(t)
  await administration.suites.register({ suiteId: 'early', name: 'Early' })
  clock.time += 2 * DAY
  await administration.suites.register({ suiteId: 'late', name: 'Late' })
  const browser = await signIn()
  const day = await browser.body('/audit?period=24h&actor=tester')
  t.match(read(day), ' late ')
  t.notMatch(read(day), ' early ')
  t.strictSame(valuesOf(day, 'period'), ['24h'])
  t.match(day, '<a href="/audit?period=24h&amp;actor=tester" aria-current="page">24 h<')
  t.match(day, '<a href="/audit?actor=tester">Any time<')
  for (const path of ['/', '/refusals', '/audit']) t.match(day, `<a href="${path}?period=24h"`)
  t.match(day, '<a href="/applications">')
  const whole = await browser.body('/audit?since=2027-01-16&until=2027-01-17&period=1h')
  t.match(read(whole), ' late ')
  t.strictSame([valuesOf(whole, 'since'), valuesOf(whole, 'until')], [['2027-01-16T00:00'], ['2027-01-17T23:59']])
  t.notMatch(whole, 'aria-current="page">1 h<', 'times come before a period')
})

t.test('Audit: a part of a name or id is enough, and a whole id finds only that', async (t) => {
  const { signIn, administration, store } = await createConsoleWorld(t)
  await administration.applications.register({ clientId: 'a-1', name: 'Shop Nord' })
  await administration.applications.register({ clientId: 'a-12', name: 'Feed' })
  await administration.applications.remove('a-1')
  for (let n = 0; n < 120; n++) await administration.suites.register({ suiteId: `s-${n}`, name: 'X' })
  const browser = await signIn()
  const found = async (query: string) =>
    [...(await browser.body(`/audit?${query}`)).matchAll(/title="(a-\d+|s-\d+)"/g)].map(([, id]) => id)
  t.strictSame(await found('subject=nORD'), ['a-1', 'a-1'], 'also of one that was removed')
  t.strictSame(await found('subject=a-1'), ['a-1', 'a-1'])
  t.strictSame(await found('subject=A-1&actor=TEST'), ['a-1', 'a-12', 'a-1'])
  t.strictSame(await found('subject=a-1&actor=ann'), [])
  const many = await found('actor=este')
  t.strictSame([many.length, many[0], many.at(-1)], [49, 's-119', 's-71'], 'after the login of anna')
  const [last] = await store.listAuditEvents({ subject: 's-71', limit: 1 })
  t.equal((await found(`actor=este&before=${last?.id}`))[0], 's-70')
})

t.test('Audit: a search compares 5,000 changes at a time, and links to the older ones', async (t) => {
  const { signIn, store } = await createConsoleWorld(t)
  const [event] = await store.listAuditEvents({ limit: 1 })
  const browser = await signIn()
  Object.assign(store, {
    listAuditEvents: async ({ before = 5200, limit, actor }: { before?: number; limit: number; actor?: string }) =>
      actor === undefined
        ? Array.from({ length: Math.min(limit, before - 1) }, (_, n) => ({ ...event, id: before - 1 - n }))
        : [],
  })
  const first = await browser.body('/audit?actor=nobody')
  t.match(read(first), '5,000 changes were compared')
  const [, older = ''] = /href="([^"]*)">Look through older ones/.exec(first) ?? []
  t.match(older, 'before=200')
  const last = await browser.body(older.replaceAll('&amp;', '&'))
  t.match(last, 'No changes match<')
  t.match(last, 'href="/audit?actor=nobody">Newer')
})

t.test('Audit: events of a database have no link', async (t) => {
  const { signIn, store } = await createConsoleWorld(t)
  const author = { actor: 'root', actorEmail: null, origin: 'command line', remoteAddress: 'machine' } as const
  const what = { action: 'backup made', subject: { kind: 'database', id: 'db' }, before: null, after: {} } as const
  store.listAuditEvents = async () => [{ id: 1, at: 0, ...author, requestId: undefined, ...what, count: 1 }]
  const { body } = await (await signIn())('/audit')
  t.match(body, /Backup made<\/div><\/td><td [^>]*><div><bdi class="cut code" title="db">db<\/bdi>/)
  t.match(read(body), 'command line, machine ')
})

t.test('Lists: pages are linked in both directions, and the links keep the filter', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  const { applications, suites } = administration
  const named = { name: 'Shop' }
  for (let n = 0; n <= 100; n++) await suites.register({ suiteId: `s-${n}`, name: 'X' })
  for (let n = 0; n <= 100; n++) await applications.register({ ...named, clientId: `a-${n}`, suites: ['s-0'] })
  const browser = await signIn()
  const LINK = /<a href="\/(?:applications\/a|suites\/s)-(\d+)"(?!>Reload)/g
  const numbersIn = (body: string) => [...body.matchAll(LINK)].map(([, number]) => Number(number))
  const linkIn = (body: string, label: string) => new RegExp(`href="([^"]*)"[^>]*>${label}</a>`).exec(body)?.[1] ?? ''
  const follow = (body: string, label: string) => browser.body(unescaped(linkIn(body, label)))
  for (const [url, starts, places, [first, previous, next]] of [
    ['/applications', [100, 50, 0], '101 applications', ['First', 'Previous', 'Next']],
    ['/applications?search=shop&status=quiet', [100, 50, 0], '101 applications', ['First', 'Previous', 'Next']],
    ['/suites', [0, 50, 100], '101 suites', ['First', 'Previous', 'Next']],
    // One of its events is anna's login link.
    ['/audit?actor=tester', [100, 51, 1], undefined, ['Newest', 'Newer', 'Older']],
  ] as const) {
    const one = await browser.body(url)
    const two = await follow(one, next)
    const three = await follow(two, next)
    const pages = [one, two, three]
    t.strictSame(
      pages.map((body) => numbersIn(body)[0]),
      starts,
      url,
    )
    const shown = places
      ? ['1–50 of', '51–100 of', '101–101 of'].map((rows) => `${rows} ${places} `)
      : ['Page 1 ', 'Page 2 ', 'Page 3 ']
    for (const [n, place] of shown.entries()) t.match(textOf(pages[n] ?? ''), ` ${place}· Export`)
    t.strictSame([linkIn(one, previous), linkIn(one, first), linkIn(two, first)], ['', '', ''], 'one link to a page')
    t.equal(numbersIn(await follow(three, previous))[0], starts[1])
    for (const address of [linkIn(two, previous), linkIn(three, first)]) t.equal(unescaped(address), url)
    if (places) t.notMatch(three, 'rel="next"', 'the last one')
  }
  t.match(await browser.body('/audit?before=3'), 'href="/audit">Newer')
  t.equal(numbersIn(await browser.body('/suites?from=nonsense'))[0], 0)
})

t.test('Lists: the columns of applications can be chosen, and the browser keeps the choice', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  const { applications, secrets } = administration
  for (const clientId of ['a', 'b', 'c'])
    await applications.register({ clientId, name: 'Shop', labels: { of: clientId } })
  await secrets.rotate('b', 60_000)
  const [, second] = await secrets.list('b')
  await secrets.revoke('b', Number(second?.id))
  await secrets.revoke('c', Number((await secrets.list('c'))[0]?.id), { force: true })
  const browser = await signIn('viewer')
  const columnsIn = (body: string) =>
    [...body.matchAll(/<th role="columnheader"[^>]*>(.*?)<\/th>/g)].map(([, label = '']) => textOf(label).trim())
  const usual = ['Application', 'Developer', 'Status', 'Suites', 'Last token', 'Tokens/h']
  t.strictSame(columnsIn(await browser.body('/applications')), usual)
  t.match(await browser.body('/applications'), 'name="columns" value="Developer" checked>')
  const chosen = await browser('/applications?search=shop&columns=&columns=Labels&columns=Secret+ends&columns=else')
  t.strictSame(columnsIn(chosen.body), ['Application', 'Labels', 'Secret ends'])
  t.match(textOf(chosen.body), / of=c none Shop b \+1 of=b \S+ \S+ UTC Shop a \+1 of=a never /)
  t.match(chosen.body, '<input type="hidden" name="search" value="shop"><input type="hidden" name="columns" value="">')
  const cookie = String(chosen.headers['set-cookie'])
  t.match(cookie, /^__Host-columns[^;]*=0010001000; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=34560000$/)
  const kept = (value: string) => ({ headers: { cookie: `${browser.cookie}; ${value}` } })
  const keptBody = await browser.body('/applications', kept(cookie.split(';')[0] ?? ''))
  t.strictSame(columnsIn(keptBody), ['Application', 'Labels', 'Secret ends'])
  t.strictSame(columnsIn(await browser.body('/applications?columns=')), ['Application'])
})

t.test('Lists: an empty one says what to do next, except to a viewer', async (t) => {
  const { signIn, store, administration } = await createConsoleWorld(t)
  const [browser, viewer] = [await signIn(), await signIn('viewer')]
  t.match(await browser.body('/audit?subject=nobody'), 'No changes match')
  store.listAuditEvents = async () => []
  for (const [url, text, href] of [
    ['/applications', 'No application is registered yet', '/new-application'],
    ['/suites', 'There are no suites yet', '/new-suite'],
    ['/audit', 'No changes yet', '/new-application'],
  ] as const) {
    const { body } = await browser(url)
    t.match(body, text)
    t.equal(body.split(`href="${href}"`).length, 2, 'one link')
    t.notMatch(body, 'name="search"')
    const seen = await viewer.body(url)
    t.match(seen, text)
    t.notMatch(seen, href)
  }
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  t.match(await browser.body('/applications?for=store&from=x'), 'No application is registered yet')
})
