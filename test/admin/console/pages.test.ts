import t from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { createConsoleWorld } from '../../support/console-world.ts'

const PAGES = [
  '/',
  '/applications',
  '/new-application',
  '/applications/nobody',
  '/suites',
  '/new-suite',
  '/audit',
  '/operators',
  '/about',
  '/login',
  '/nowhere',
]

/** Texts that must not become markup. */
const NO_INLINE = /\sstyle=|<style|\son\w+=|<script(?! type="module" src="\/assets\/)|javascript:/

t.test('Console: every page forbids inline code, framing and caching', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  for (const page of PAGES) {
    const { headers, body } = await browser(page)
    t.equal(headers['content-type'], 'text/html; charset=utf-8', page)
    t.equal(headers['cache-control'], 'no-store')
    t.equal(headers['referrer-policy'], 'same-origin')
    t.equal(headers['x-content-type-options'], 'nosniff')
    t.equal(headers['cross-origin-opener-policy'], 'same-origin')
    t.match(headers['x-request-id'], /./)
    const policy = String(headers['content-security-policy'])
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "trusted-types 'none'"]) {
      t.ok(policy.includes(part), part)
    }
    t.notMatch(policy, 'unsafe')
    t.notMatch(body, NO_INLINE)
    t.equal(body.split('<h1>').length, 2, 'one heading')
  }
})

t.test('Console: a form of another site changes nothing', async (t) => {
  const { signIn, visit, administration, codeFor } = await createConsoleWorld(t)
  const browser = await signIn()
  const foreign: Record<string, string>[] = [
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'none' },
    { 'sec-fetch-site': '', origin: 'https://evil.example' },
    { 'sec-fetch-site': 'cross-site', origin: 'http://localhost' },
  ]
  const form = { 'content-type': 'application/x-www-form-urlencoded' }
  for (const headers of foreign) {
    for (const url of ['/operators/viktor/remove', '/logout', '/login']) {
      const { statusCode, body } = await browser(url, { method: 'POST', headers: { ...form, ...headers } })
      t.equal(statusCode, 403, `${url} ${JSON.stringify(headers)}`)
      t.match(body, 'This was refused')
    }
  }
  // Without Fetch Metadata, the Origin is checked.
  for (const origin of [undefined, 'null', 'http://evil.example', 'http://localhost:1', 'https://localhost:80']) {
    const { statusCode } = await browser('/operators/viktor/remove', {
      method: 'POST',
      headers: { ...form, host: 'localhost:80', ...(origin && { origin }) },
    })
    t.equal(statusCode, 403, String(origin))
  }
  t.equal((await administration.operators.list()).length, 2)
  t.equal((await browser('/about')).statusCode, 200)

  // The session belongs to the port at which the browser signed in.
  const own = { ...form, host: 'localhost:80', origin: 'http://localhost:80' }
  const code = await codeFor('viewer')
  const login = await visit('/login', { method: 'POST', headers: own })
  t.match(login.body, 'This code is wrong', 'the own origin passes')
  t.ok(code)
  t.equal((await browser('/operators/viktor/remove', { method: 'POST', headers: own })).statusCode, 303)
})

t.test('Console: a request for another host is refused, also with a session', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  const { statusCode, body } = await browser('/about', { headers: { host: 'evil.example' } })
  t.equal(statusCode, 421)
  t.match(body, 'ADMIN_URL')
  t.notMatch(body, 'Signed in')
})

t.test('Console: unknown paths and methods are answered with a page', async (t) => {
  const { signIn, visit } = await createConsoleWorld(t)
  const browser = await signIn()
  const nowhere = await browser('/nowhere')
  t.equal(nowhere.statusCode, 404)
  t.match(nowhere.body, '<h1>Page not found</h1>')
  t.match(nowhere.body, /request id <code>[\w-]+<\/code>/)
  t.match(nowhere.body, 'Signed in as')
  const method = await browser('/about', { form: {} })
  t.strictSame([method.statusCode, method.headers.allow], [405, 'GET, HEAD'])
  t.match(method.body, 'This method is not allowed')
  t.equal((await visit('/nowhere')).headers.location, '/login', 'nobody else learns which paths exist')
  t.equal((await visit('/assets/nothing.css')).statusCode, 404)
})

t.test('Console: a form that is too large or malformed is answered with a page', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  const large = await browser('/login', { form: { code: 'x'.repeat(70_000) } })
  t.equal(large.statusCode, 413)
  t.match(large.body, 'This is too large')
  const json = await browser('/login', {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain', 'content-length': '2' },
  })
  t.equal(json.statusCode, 415)
  t.match(json.body, 'This could not be read')
})

t.test('Console: if the store is unavailable or an error occurs, the page says what to do', async (t) => {
  const { signIn, context, events } = await createConsoleWorld(t)
  const browser = await signIn()
  const { findSession } = context.store
  t.teardown(() => Object.assign(context.store, { findSession }))
  const failures = [
    { error: new StoreUnavailable('It is gone.'), status: 503, title: 'The database is not available' },
    { error: new Error('secret words'), status: 500, title: 'The server failed' },
  ]
  for (const { error, status, title } of failures) {
    Object.assign(context.store, { findSession: () => Promise.reject(error) })
    const { statusCode, body, headers } = await browser('/about')
    t.equal(statusCode, status)
    t.match(body, title)
    t.notMatch(body, error.message)
    t.match(body, String(headers['x-request-id']))
    t.match(events.at(-1), { type: 'request failed', status, err: error })
  }
})

t.test('Console: only its own messages are shown as results', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  t.match((await browser('/operators?done=key-revoked')).body, 'The key is revoked.')
  for (const done of ['<script>', 'toString', '', 'key-revoked&done=x']) {
    const { body } = await browser(`/operators?done=${done}`)
    t.equal(body.includes('note good'), done.startsWith('key-revoked'), done)
  }
})

t.test('About: it shows the version and the settings, without passwords', async (t) => {
  const { signIn, context } = await createConsoleWorld(t)
  const { body } = await (await signIn('viewer'))('/about')
  t.match(body, context.about.version)
  t.match(body, 'SQLite')
  t.match(body, 'DATABASE_URL')
  t.match(body, '<time datetime="2027-01-15T08:00:00.000Z">')
  t.notMatch(body, 'Documentation')
  Object.assign(context.about, { settings: [] })
  t.notMatch((await (await signIn())('/about')).body, 'Documentation')
  Object.assign(context.about, {
    settings: [{ name: 'DOCS_URL', value: 'https://docs.example/"x', meaning: 'Where to <read>' }],
  })
  const linked = (await (await signIn())('/about')).body
  t.match(linked, '<a href="https://docs.example/&quot;x" rel="noreferrer">')
  t.match(linked, 'Where to &lt;read&gt;')
})

t.test('Pages: applications and suites have pages whatever their ids', async (t) => {
  for (const id of ['new', 'remove', 'new-application']) {
    const { administration, signIn } = await createConsoleWorld(t)
    await administration.applications.register({ clientId: id, name: 'Shop', developerEmail: 'dev@partner.example' })
    t.match((await (await signIn())(`/applications/${id}`)).body, '<title>Shop', id)
  }
  for (const id of ['new', 'remove', 'new-suite']) {
    const { administration, signIn } = await createConsoleWorld(t)
    await administration.suites.register({ suiteId: id, name: 'Store API' })
    t.match((await (await signIn())(`/suites/${id}`)).body, '<title>Store API', id)
  }
})

t.test('Overview: operators who may register an application find a link on the first page', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const button = '<a class="button primary small" href="/new-application">Register an application</a>'
  t.match((await (await signIn())('/')).body, button)
  t.notMatch((await (await signIn('viewer'))('/')).body, button)
})
