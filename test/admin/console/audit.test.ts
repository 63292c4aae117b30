import t from 'tap'
import type { Author } from '../../../src/domain/audit-event.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { textOf } from '../../support/pages.ts'

const DAY = 24 * 60 * 60_000

/** The text after the first heading. */
const read = (body: string) => textOf(body.slice(body.indexOf('<h1>')))

t.test('Audit: changes are listed newest first, with author, origin and differences', async (t) => {
  const { signIn, context } = await createConsoleWorld(t)
  const author: Author = { actor: 'bert', origin: 'API', remoteAddress: '192.0.2.1', requestId: 'request-1' }
  const { applications, suites } = context.administration(author)
  const { clientId } = await applications.register({ name: 'Old', developerEmail: 'dev@partner.example' })
  await applications.update(clientId, { name: 'New' })
  await suites.register({ suiteId: 'store', name: 'Store API' })
  const browser = await signIn('viewer')
  const { body } = await browser('/audit?actor=bert')
  t.match(read(body), /Application updated .* Application registered/)
  t.match(read(body), 'bert API, 192.0.2.1, request request-1')
  t.match(body, 'name: <del><bdi>Old</bdi></del> → <ins><bdi>New</bdi></ins>')
  for (const href of [`/applications/${clientId}`, '/audit?actor=bert', '/suites/store'])
    t.match(body, `<a href="${href}">`)
  const all = (await browser('/audit')).body
  t.match(all, '<a href="/operators#operator-viktor">')
  t.match(read(all), 'Operator logged in')
})

t.test('Audit: applications and suites are shown with name and id, even if they were removed', async (t) => {
  const { signIn, context, administration } = await createConsoleWorld(t)
  const { applications, suites, operators } = administration
  const browser = await signIn()
  const developerEmail = 'dev@partner.example'
  await applications.register({ clientId: 'same-id', name: 'Old', developerEmail })
  await applications.update('same-id', { name: 'New' })
  await suites.register({ suiteId: 'store', name: 'Store API' })
  await applications.register({ clientId: 'gone', name: 'Was here', developerEmail })
  await applications.remove('gone')
  /** How often a page has a part. */
  const count = (body: string, part: string) => body.split(part).length - 1
  const shown = (address: string, name: string, id: string) =>
    `<a href="${address}"><bdi class="name" title="${name}">${name}</bdi></a><div class="hint"><bdi class="cut" title="${id}">${id}</bdi></div>`
  const { body } = await browser('/audit')
  t.equal(count(body, shown('/applications/same-id', 'New', 'same-id')), 2, 'with its current name')
  t.match(body, shown('/suites/store', 'Store API', 'store'))
  t.equal(count(body, shown('/applications/gone', 'Was here', 'gone')), 2)

  await operators.add('same-id', 'viewer')
  await applications.update('same-id', { name: 'Newer' })
  await operators.addKey('same-id', DAY)
  const both = (await browser('/audit?subject=same-id')).body
  t.equal(count(both, shown('/applications/same-id', 'Newer', 'same-id')), 3, 'not mixed up with an operator')
  t.equal(count(both, '<a href="/operators#operator-same-id"><bdi class="cut" title="same-id">'), 2)

  const events = await context.store.listAuditEvents({ limit: 50 })
  context.store.listAuditEvents = async () => events.map((event) => ({ ...event, before: null, after: {} }))
  t.match((await browser('/audit')).body, '<a href="/applications/gone"><bdi class="cut" title="gone">')
})

t.test('Audit: it can be filtered by day, actor and subject, and the form keeps the filter', async (t) => {
  const { signIn, administration, clock } = await createConsoleWorld(t)
  await administration.suites.register({ suiteId: 'early', name: 'Early' })
  clock.time += 2 * DAY
  await administration.suites.register({ suiteId: 'late', name: 'Late' })
  const browser = await signIn()
  const since = read((await browser('/audit?since=2027-01-16')).body)
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
    t.match(body, '<p class="error" id="field-since-error">Write a day like this')
  }
})

t.test('Audit: pages are linked, and keep the filter', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  for (let n = 1; n <= 50; n++) await administration.suites.register({ suiteId: `s${n}`, name: `Suite ${n}` })
  const browser = await signIn()
  const newest = (await browser('/audit?actor=tester')).body
  t.match(newest, 'href="/suites/s2"')
  t.notMatch(newest, /href="\/suites\/s1"|Newest/)
  const [, older = ''] = /<a class="button" href="([^"]+)" rel="next">Older/.exec(newest) ?? []
  t.match(older, /^\/audit\?actor=tester&amp;before=\d+$/)
  const next = (await browser(older.replace('&amp;', '&'))).body
  t.match(next, 'href="/suites/s1"')
  t.notMatch(next, 'href="/suites/s2"')
  t.match(next, '<a class="button" href="/audit?actor=tester">Newest</a>')
  t.match((await browser('/audit?before=3')).body, '<a class="button" href="/audit">Newest</a>')
})

t.test('Audit: an empty list says why it is empty; events of a database have no link', async (t) => {
  const { signIn, store } = await createConsoleWorld(t)
  const [browser, viewer] = [await signIn(), await signIn('viewer')]
  t.match((await browser('/audit?subject=nobody')).body, 'No changes match')
  store.listAuditEvents = async () => []
  const { body } = await browser('/audit')
  t.match(body, 'No changes yet')
  t.match(body, '/new-application')
  t.notMatch((await viewer('/audit')).body, '/new-application')

  const author = { actor: 'root', origin: 'command line', remoteAddress: 'machine', requestId: undefined } as const
  const what = { action: 'backup made', subject: { kind: 'database', id: 'db' }, before: null, after: {} } as const
  store.listAuditEvents = async () => [{ id: 1, at: 0, ...author, ...what }]
  const backup = (await browser('/audit')).body
  t.match(backup, /Backup made<\/div><\/td><td [^>]*><div><bdi class="cut" title="db">db<\/bdi>/)
  t.match(read(backup), 'command line, machine ')
})
