import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { csvText } from '../../../src/admin/console/exports.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { text as field, jsonSchema, list, object, whole } from '../../../src/views/schema.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { until } from '../../support/until.ts'
import { START } from '../../support/world.ts'

const CELLS = jsonSchema(
  object('Row', 'A row', {
    name: field('A name').nullable(),
    count: whole('A number'),
    tags: list('Texts', field('A text')),
    inner: object('Inner', 'Fields of their own', { kind: field('A kind') }),
    before: field('JSON'),
  }),
)

t.test('RFC 4180: cells are quoted where needed, and no text is a formula to spreadsheets', async (t) => {
  const { begin, row: lineOf } = csvText(CELLS)
  t.equal(begin, '\uFEFFname,count,tags,inner_kind,before\r\n')
  const row = { name: null, count: -1, tags: ['a', 'b'], inner: { kind: 'x' }, before: { a: ['b'] } }
  t.equal(lineOf(row), ',-1,"a, b",x,"{""a"":[""b""]}"\r\n')
  const names: Record<string, string> = {
    'A B': 'A B',
    'a,b': '"a,b"',
    'a;b': '"a;b"',
    'say "x"': '"say ""x"""',
    'two\r\nlines': '"two\r\nlines"',
    ' x ': '" x "',
    '=1+1': "'=1+1",
    '+1': "'+1",
    '-1': "'-1",
    '@SUM(A1)': "'@SUM(A1)",
    '＝1+1': "'＝1+1",
    ' =1+1': "' =1+1",
    '\t=1': `"'\t=1"`,
    '\rx': `"'\rx"`,
    '=HYPERLINK("http://a.example";"x")': `"'=HYPERLINK(""http://a.example"";""x"")"`,
    'a=b': 'a=b',
    'a;=1+1': `"a;'=1+1"`,
    'a; =1+1;b': `"a;' =1+1;b"`,
    'a\n@x': `"a\n'@x"`,
    Ünï: 'Ünï',
  }
  for (const [name, cell] of Object.entries(names)) {
    t.equal(lineOf({ ...row, name, before: null }), `${cell},-1,"a, b",x,\r\n`, JSON.stringify(name))
  }
  t.equal(lineOf({ ...row, inner: null }), ',-1,"a, b",,"{""a"":[""b""]}"\r\n')
})

/**
 * A listener whose suites are many pages of 200, each of which takes a while to read. `reading`: how many pages were begun, and
 * how many were read at the same time at most.
 */
async function createWorldOfPages(t: Test, { pages = Infinity, failsAt = Infinity } = {}) {
  const world = await createConsoleWorld(t)
  const reading = { pages: 0, now: 0, most: 0 }
  Object.assign(world.store, {
    async listSuites({ after = 0, limit }: { after?: number; limit: number }) {
      reading.most = Math.max(reading.most, ++reading.now)
      await new Promise(setImmediate)
      reading.now--
      if (++reading.pages === failsAt) throw new StoreUnavailable('gone')
      const count = after + limit > pages * 200 ? 200 : limit
      const rest = { createdAt: START, secrets: [], labels: {}, note: '', name: 'x'.repeat(10_000) }
      return Array.from({ length: count }, (_, n) => ({ key: after + n + 1, suiteId: `s-${after + n + 1}`, ...rest }))
    },
  })
  const address = await world.listen()
  const browser = await world.signIn('viewer')
  /** The answer to a request, of which nothing has been read. */
  async function open(path: string, { cookie } = browser): Promise<IncomingMessage> {
    const headers = { cookie, host: 'localhost:80' }
    const [answer] = await once(get(`${address}${path}`, { agent: false, headers }), 'response')
    return answer
  }
  const exported = () => world.events.filter(({ type }) => type === 'list exported')
  world.events.length = 0
  return { ...world, browser, reading, open, exported }
}

const SUITES = '/suites.csv'

t.test('Export: a list is sent page by page, in turns with other requests, and is one line of the log', async (t) => {
  const { open, reading, signIn, exported, lines } = await createWorldOfPages(t, { pages: 3 })
  const answers = await Promise.all([open(SUITES), open(SUITES, await signIn('admin'))])
  for (const answer of answers) {
    t.match(answer, { statusCode: 200, headers: { 'content-type': 'text/csv; charset=utf-8; header=present' } })
    const disposition = 'attachment; filename="suites-2027-01-15.csv"'
    t.match(answer.headers, { 'content-disposition': disposition, 'cache-control': 'no-store' })
    const ids = (await text(answer)).split('\r\n').map((line) => line.split(',')[0])
    t.strictSame([ids.length, ids[1], ids.at(-2)], [602, 's-1', 's-600'])
  }
  t.strictSame(reading, { pages: 6, now: 0, most: 1 })
  t.equal(exported().length, 2)
  const line = lines.map((one) => JSON.parse(one)).findLast(({ actor }) => actor === 'viktor')
  const by = { actor: 'viktor', origin: 'console', request_id: String }
  t.match(line, { msg: 'list exported', list: 'suites', format: 'csv', rows: 600, complete: true, ...by })
})

t.test('Export: a client that does not read holds up nobody, and one that leaves ends it', async (t) => {
  const { open, ask, reading, exported } = await createWorldOfPages(t)
  const stalled = await open(SUITES)
  await until(async () => {
    const { pages } = reading
    for (let n = 0; n < 5; n++) t.equal((await ask('/admin/v1/operators', { as: 'viewer' })).statusCode, 200)
    return reading.pages === pages
  })
  t.ok(reading.pages < 50, 'a few pages are in the buffers of the connection')
  t.strictSame(exported(), [])
  stalled.destroy()
  await until(() => exported().length === 1)
  t.match(exported(), [{ complete: false }])
  t.ok((exported()[0] as { rows: number }).rows <= reading.pages * 200)
})

t.test('Export: if the store fails on the way the connection breaks off; before, it is an error', async (t) => {
  const { open, events } = await createWorldOfPages(t, { failsAt: 3 })
  await t.rejects(text(await open(SUITES)), { code: 'ECONNRESET' })
  t.match(events, [
    { type: 'request failed', reason: 'store unavailable' },
    { type: 'list exported', rows: 400, complete: false },
  ])
  const failing = await createWorldOfPages(t, { failsAt: 1 })
  const { statusCode, headers } = await failing.open(SUITES)
  t.equal(statusCode, 503)
  t.equal(headers['content-disposition'], undefined)
  t.strictSame(failing.exported(), [])
})

t.test('Export: it breaks off when its operator is removed', async (t) => {
  const { open, administration, events, exported } = await createWorldOfPages(t)
  const answer = await open(SUITES)
  await administration.operators.remove('viktor')
  await t.rejects(text(answer), { code: 'ECONNRESET' })
  t.match(events, [{ type: 'operator refused', reason: 'no credentials', operator: 'viktor' }, exported()[0]])
})

t.test('Export: HEAD reads no list', async (t) => {
  const { ask, browser, reading, exported } = await createWorldOfPages(t)
  const { headers, payload } = await browser(SUITES, { method: 'HEAD' })
  t.match(headers, { 'content-type': /^text\/csv/ })
  for (let n = 0; n < 5; n++) await ask('/admin/v1/operators', { as: 'viewer' })
  t.strictSame([payload, headers['content-length'], reading.pages, exported()], ['', undefined, 1, []])
})

t.test('Export: the pages of the console link to files with their filters, as CSV and as JSON', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  const labels = { a: '1', b: '2' }
  for (const suiteId of ['one', 'two']) await administration.suites.register({ suiteId, name: '=A', labels })
  const browser = await signIn('viewer')
  const file = async (page: string, format: string) => {
    const [, href = ''] = new RegExp(`href="([^"]*\\.${format}[^"]*)"`).exec(await browser.body(page)) ?? []
    return browser(href.replaceAll('&amp;', '&'))
  }
  const json = async (page: string) => (await file(page, 'json')).json()
  t.match(await json('/suites'), [{ id: 'one' }, { id: 'two' }])
  t.match((await file('/suites', 'csv')).body, `one,'=A,2027-01-15T08:00:00.000Z,"a=1, b=2",,,,\r\n`)
  const { headers } = await file('/audit', 'json')
  t.equal(headers['content-disposition'], 'attachment; filename="audit-events-2027-01-15.json"')
  for (const id of ['a', 'b', 'c']) {
    await administration.applications.register({ clientId: id, name: id, developerEmail: `${id}@d`, suites: ['one'] })
  }
  t.match(await json('/applications'), [{ client_id: 'c' }, { client_id: 'b' }, { client_id: 'a' }])
  t.match(await json('/applications?sort=name&suite=one&search=b@'), [{ client_id: 'b', suites: ['one'] }])
  t.strictSame((await browser('/applications.json?status=suspended')).json(), [])
  const secret = {
    kind: 'suite',
    owner: 'one',
    name: '=A',
    id: 1,
    state: 'active',
    last_used_at: null,
    last_used_from: null,
  }
  t.match(await json('/secrets'), [secret])
  t.match((await file('/secrets', 'csv')).body, /^.*,federated_issuer,.*\r\n.*one,.*\r\n/)
  t.strictSame((await browser('/secrets.json?show=old')).json(), [])
  const two = { action: 'suite registered', subject: { kind: 'suite', id: 'two' } }
  t.match(await json('/audit?subject=tw&action=suite+registered&until=2027-01-15'), [two])
  const { body } = await file('/audit?subject=two', 'csv')
  t.match(body, /,subject_kind,subject_id,before,after,subject_name\r\n.*,suite,two,,"\{""id"".*,'=A\r\n/)
  await administration.operators.add('eve', 'viewer')
  await administration.operators.makeLoginCode('eve')
  t.match(await json('/audit?action=login+link+made'), [{ subject: { kind: 'operator', id: 'eve' }, subject_name: '' }])
  t.strictSame((await browser('/audit.json?until=2027-01-14')).json(), [])
  t.equal(await browser.status('/audit.csv?until=tomorrow'), 422)
})
