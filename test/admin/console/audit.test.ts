import t from 'tap'
import type { Author } from '../../../src/domain/audit-event.ts'
import { createConsoleWorld } from '../../support/console-world.ts'

const DAY = 24 * 60 * 60_000
const EVIL = `"'><script>alert(1)</script>`

/** The text after the first heading. */
function read(body: string): string {
  return body
    .slice(body.indexOf('<h1>'))
    .replace(/<[^>]+>/g, ' ')
    .replace(/\s+/g, ' ')
}

t.test('Audit: changes are listed newest first, with author, origin and differences', async (t) => {
  const { signIn, context } = await createConsoleWorld(t)
  const author: Author = { actor: 'bert', origin: 'API', remoteAddress: '192.0.2.1', requestId: 'request-1' }
  const { applications } = context.administration(author)
  const { clientId } = await applications.register({ name: 'Old', developerEmail: 'dev@partner.example' })
  await applications.update(clientId, { name: 'New' })
  const { statusCode, body } = await (await signIn('viewer'))('/audit?actor=bert')
  t.equal(statusCode, 200)
  const text = read(body)
  t.match(text, /Application updated .* Application registered/)
  t.match(body, 'name: <del><bdi>Old</bdi></del> → <ins><bdi>New</bdi></ins>')
  t.match(text, 'bert API, 192.0.2.1, request request-1')
  t.match(body, `<a href="/applications/${clientId}">`)
  t.match(body, '<a href="/audit?actor=bert">')
})

t.test('Audit: applications and suites are shown with name and id, even if they were removed', async (t) => {
  const { signIn, context, administration } = await createConsoleWorld(t)
  const { applications, suites } = administration
  const developerEmail = 'dev@partner.example'
  await applications.register({ clientId: 'same-id', name: 'Old', developerEmail })
  await applications.update('same-id', { name: 'New' })
  await suites.register({ suiteId: 'store', name: 'Store API' })
  await applications.register({ clientId: 'gone', name: 'Was here', developerEmail })
  await applications.remove('gone')
  const { body } = await (await signIn())('/audit')
  const shown = (address: string, name: string, id: string) =>
    `<a href="${address}"><bdi class="name" title="${name}">${name}</bdi></a><div class="hint"><bdi class="cut" title="${id}">${id}</bdi></div>`
  t.equal(body.split(shown('/applications/same-id', 'New', 'same-id')).length, 3, 'with its current name')
  t.match(body, shown('/suites/store', 'Store API', 'store'))
  t.equal(body.split(shown('/applications/gone', 'Was here', 'gone')).length, 3)
  await administration.operators.add('same-id', 'viewer')
  await applications.update('same-id', { name: 'Newer' })
  await administration.operators.addKey('same-id', DAY)
  const both = (await (await signIn())('/audit?subject=same-id')).body
  t.equal(
    both.split(shown('/applications/same-id', 'Newer', 'same-id')).length,
    4,
    'regardless of operators with the same id',
  )
  t.equal(both.split('<a href="/operators#operator-same-id"><bdi class="cut" title="same-id">').length, 3)
  const { listAuditEvents } = context.store
  t.teardown(() => Object.assign(context.store, { listAuditEvents }))
  const nameless = (await listAuditEvents({ limit: 50 })).map((event) => ({ ...event, before: null, after: {} }))
  Object.assign(context.store, { listAuditEvents: async () => nameless })
  t.match((await (await signIn())('/audit')).body, '<a href="/applications/gone"><bdi class="cut" title="gone">')
})

t.test('Audit: it links to suites and operators, too', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  await administration.suites.register({ suiteId: 'store', name: 'Store API' })
  const { body } = await (await signIn())('/audit')
  t.match(body, '<a href="/suites/store">')
  t.match(body, '<a href="/operators#operator-viktor">')
  t.match(read(body), 'Operator logged in')
})

t.test('Audit: no part of an event is rendered as markup', async (t) => {
  const { signIn, context } = await createConsoleWorld(t)
  const author: Author = { actor: EVIL, origin: 'command line', remoteAddress: EVIL, requestId: EVIL }
  const { applications, suites } = context.administration(author)
  const { clientId } = await applications.register({
    clientId: EVIL,
    name: EVIL,
    developerEmail: 'dev@partner.example',
  })
  await suites.register({ suiteId: 'evil', name: EVIL })
  const browser = await signIn()
  const { body } = await browser(`/audit?subject=${encodeURIComponent(clientId)}`)
  t.match(read(body), 'Application registered')
  t.notMatch(body, '<script>')
  t.match(body, `<a href="/applications/${encodeURIComponent(EVIL)}">`.replaceAll("'", '&#39;'))
  const echoed = await browser(`/audit?since=${EVIL}&actor=${EVIL}&subject=${EVIL}&before=${EVIL}`)
  t.notMatch(echoed.body, '<script>')
  t.equal(echoed.statusCode, 422)
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
})

t.test('Audit: an invalid day is reported at its field', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  for (const since of ['yesterday', '2027-13-01', '2027-02-30']) {
    const { statusCode, body } = await browser(`/audit?since=${since}`)
    t.equal(statusCode, 422, since)
    t.match(body, '<p class="error" id="field-since-error">Write a day like this')
  }
})

t.test('Audit: the next page continues where the previous one ended, and links back to the newest', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  for (let n = 1; n <= 50; n++) await administration.suites.register({ suiteId: `s${n}`, name: `Suite ${n}` })
  const browser = await signIn()
  const newest = await browser('/audit?actor=tester')
  t.match(newest.body, 'href="/suites/s2"')
  t.notMatch(newest.body, 'href="/suites/s1"')
  t.notMatch(newest.body, 'Newest')
  const [, older = ''] = /<a class="button" href="([^"]+)" rel="next">Older/.exec(newest.body) ?? []
  t.match(older, /^\/audit\?actor=tester&amp;before=\d+$/)
  const next = await browser(older.replace('&amp;', '&'))
  t.match(next.body, 'href="/suites/s1"')
  t.notMatch(next.body, 'href="/suites/s2"')
  t.match(next.body, '<a class="button" href="/audit?actor=tester">Newest</a>')
  t.match((await browser('/audit?before=3')).body, '<a class="button" href="/audit">Newest</a>')
})

t.test('Audit: an empty list says why it is empty, and what to do', async (t) => {
  const { signIn, store } = await createConsoleWorld(t)
  const browser = await signIn()
  t.match((await browser('/audit?subject=nobody')).body, 'No changes match')
  const { listAuditEvents } = store
  t.teardown(() => Object.assign(store, { listAuditEvents }))
  Object.assign(store, { listAuditEvents: async () => [] })
  const { body } = await browser('/audit')
  t.match(body, 'No changes yet')
  t.match(body, '/new-application')
  t.notMatch((await (await signIn('viewer'))('/audit')).body, '/new-application')
})

t.test('Audit: events of a database have no link', async (t) => {
  const { signIn, store } = await createConsoleWorld(t)
  const { listAuditEvents } = store
  t.teardown(() => Object.assign(store, { listAuditEvents }))
  const event = { id: 1, at: 0, actor: 'root', origin: 'command line', remoteAddress: 'machine', requestId: undefined }
  const backup = { ...event, action: 'backup made', subject: { kind: 'database', id: 'db' }, before: null, after: {} }
  Object.assign(store, { listAuditEvents: async () => [backup] })
  const { body } = await (await signIn())('/audit')
  t.match(
    body,
    '<div>Backup made</div></td><td role="cell" data-label="Target"><div><bdi class="cut" title="db">db</bdi>',
  )
  t.match(read(body), 'command line, machine ')
})
