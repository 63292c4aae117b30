import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { asset } from '../../../src/admin/console/layout.ts'
import type { Author } from '../../../src/domain/audit-event.ts'
import { parseDatabaseUrl } from '../../../src/domain/database-location.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { describe } from '../../../src/server/admin.ts'
import { actionsOf, createConsoleWorld, textOf } from '../../support/console-world.ts'
import { refusal, refusedRequest } from '../../support/refusal.ts'
import { aRegistration } from '../../support/registration.ts'

const CONSOLE = new URL('../../../src/admin/console/', import.meta.url)

const PAGES = [
  ...['/', '/applications', '/new-application', '/applications/nobody', '/suites', '/new-suite'],
  ...[
    '/secrets',
    '/refusals',
    '/refusals?open=none',
    '/search',
    '/audit',
    '/operators',
    '/about',
    '/docs/http.md',
    '/login',
    '/nowhere',
  ],
]

const HOSTILE = `"'><script>alert(1)</script><b/onmouseover=alert(1)>`

/** What no page may have, whatever the names that it shows. */
const NO_INLINE = /\sstyle=|<style|\son\w+=|<b\W|<script(?! type="module" src="\/assets\/)|javascript:/

t.test('Console: every page is free of inline code, whatever the names that it shows', async (t) => {
  const { signIn, codeFor, context, store } = await createConsoleWorld(t)
  const author: Author = { actor: HOSTILE, origin: 'API', remoteAddress: HOSTILE, requestId: HOSTILE }
  const { applications, suites } = context.administration(author)
  await applications.register(aRegistration({ clientId: HOSTILE, name: HOSTILE, developerEmail: '<b>"\'@x.example' }))
  await suites.register({ suiteId: 'store', name: HOSTILE })
  await applications.approve(HOSTILE, 'store')
  const texts = { reason: HOSTILE, endpoint: HOSTILE, suite: HOSTILE, remoteAddress: HOSTILE }
  const clients = [HOSTILE, 'store', `${HOSTILE}.`]
  await store.recordRefusals(clients.map((client) => refusal(client, { ...texts, requestId: HOSTILE })))
  await store.recordRefusedRequests(clients.map((clientId) => refusedRequest(HOSTILE, { clientId, ...texts })))
  const from = { remoteAddress: HOSTILE, userAgent: HOSTILE, requestId: HOSTILE }
  await context.signIn.logIn(await codeFor('viewer'), from)
  const browser = await signIn()
  const id = encodeURIComponent(HOSTILE)
  const naming = ['', '/remove', '/edit'].map((page) => `/applications/${id}${page}`)
  const searches = [
    `/refusals?open=${id}`,
    `/search?q=${id}`,
    `/applications?search=${id}`,
    `/audit?subject=${id}&since=${id}`,
  ]
  const strange = [...naming, '/suites/store', '/suites/store/remove', '/operators', '/refusals', ...searches]
  const asking = [`/applications/${id}.`, `/suites/${id}`, `/?done=${id}`, `/login?why=${id}`, `/${id}`]
  for (const page of [...PAGES, ...strange, ...asking]) {
    const { headers, body } = await browser(page)
    t.match(headers, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    t.match(headers, { 'content-security-policy': "default-src 'none'", 'referrer-policy': 'same-origin' })
    t.notMatch(body, NO_INLINE, page)
    if (strange.includes(page)) t.match(textOf(body), HOSTILE)
    t.equal(body.split('<h1>').length, 2, 'one heading')
  }
})

t.test('Console: a viewer sees every page without forms that change something', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  const { suites, applications } = administration
  await suites.register({ suiteId: 'store', name: 'Store API' })
  await applications.register({ clientId: 'a', suites: [] })
  const viewer = await signIn('viewer')
  for (const [page, ...words] of [
    ...[['/'], ['/applications'], ['/suites'], ['/audit'], ['/about']],
    ['/applications/a', 'You are a viewer', 'Not approved for any suite, so its tokens are not valid anywhere.'],
    ['/suites/store', 'You are a viewer', 'No application is approved yet'],
  ] as [string, ...string[]][]) {
    const { statusCode, body } = await viewer(page)
    t.strictSame([statusCode, actionsOf(body)], [200, []], page)
    for (const word of words) t.match(body, word)
    t.notMatch(body, 'tick it under')
  }
  const changes = ['/applications/a/remove', '/suites/store/remove', '/suites/store/edit']
  for (const page of ['/new-application', '/new-suite', ...changes]) {
    const { statusCode, body } = await viewer(page)
    t.equal(statusCode, 403, page)
    t.match(textOf(body), 'Nothing was changed. Go back, or go to the overview .')
    t.notMatch(textOf(body), 'repeat what you did', 'it would be refused again')
  }
})

t.test('Console: what cannot be answered is answered with a page that says why', async (t) => {
  const { signIn, visit, store, events } = await createConsoleWorld(t)
  const browser = await signIn()
  const large = { form: { code: 'x'.repeat(70_000) } }
  const json = { 'sec-fetch-site': 'same-origin', 'content-type': 'text/plain', 'content-length': '2' }
  for (const [url, sent, status, ...words] of [
    ['/nowhere', {}, 404, '<h1>Page not found</h1>', /request id <code>[\w-]+<\/code>/, 'Signed in as'],
    ['/about', { form: {} }, 405, 'This method is not allowed'],
    ['/login', large, 413, 'This is too large'],
    ['/login', { method: 'POST', headers: json }, 415, 'This could not be read'],
    ['/about', { headers: { host: 'evil.example' } }, 421, 'ADMIN_URL', /^(?!.*Signed in)/s],
    ['/operators/viktor/remove', { form: {}, headers: { 'sec-fetch-site': 'same-site' } }, 403, 'This was refused'],
  ] as const) {
    const { statusCode, body } = await browser(url, sent)
    t.equal(statusCode, status)
    for (const word of words) t.match(body, word)
  }
  t.equal((await browser('/about', { form: {} })).headers.allow, 'GET, HEAD')
  for (const [form, page] of [
    ['/applications/a/secrets?x=/y', '/applications/a'],
    ['/applications/a/secrets/1/revoke', '/applications/a'],
    ['/suites/store/secrets', '/suites/store'],
    ['/operators/anna/keys/1/revoke', '/operators'],
    ['/logout', '/'],
  ] as const) {
    const reloaded = await browser(form)
    t.match(reloaded, { statusCode: 303, headers: { location: page } }, 'the answer of a form, opened again')
  }
  t.equal(await visit.location('/nowhere'), '/login', 'nobody else learns which paths exist')

  for (const [error, reason, status, title, retryAfter] of [
    [new StoreUnavailable('It is gone.'), 'store unavailable', 503, 'The database cannot be used now. Try again.', '5'],
    [new Error('secret words'), 'unexpected error', 500, 'The server failed', undefined],
  ] as const) {
    store.findSession = () => Promise.reject(error)
    const { statusCode, body, headers } = await browser('/about')
    t.equal(statusCode, status)
    t.match(body, title)
    t.notMatch(body, error.message)
    t.match(body, String(headers['x-request-id']))
    t.match(events.at(-1), { type: 'request failed', reason, status, method: 'GET', err: error })
    t.equal(headers['retry-after'], retryAfter)
  }
})

t.test('Console: a form that the database cannot store says why, and what was entered is kept', async (t) => {
  const { signIn, store } = await createConsoleWorld(t)
  const browser = await signIn()
  store.register = () => Promise.reject(new StoreUnavailable('the disk is full. Free some space'))
  const { statusCode, body } = await browser('/new-suite', { form: { suite_id: 'a', name: 'A suite' } })
  t.equal(statusCode, 503)
  t.match(body, /<h1>This cannot be done now<.*The database cannot be used now: the disk is full\. Free some space\.</s)
  t.notMatch(body, 'Try again')
  t.match(body, /<input [^>]*value="A suite".*Send it again/s)
})

t.test('Console: only its own messages are shown as results', async (t) => {
  const browser = await (await createConsoleWorld(t)).signIn()
  t.match(await browser.body('/operators?done=key-revoked'), 'The key is revoked.')
  for (const done of ['<script>', 'toString', '', 'key-revoked&done=x']) {
    const { body } = await browser(`/operators?done=${done}`)
    t.equal(body.includes('note good'), done.startsWith('key-revoked'), done)
  }
})

t.test('About: it shows the version and the settings, without passwords', async (t) => {
  const { signIn, context } = await createConsoleWorld(t)
  const browser = await signIn('viewer')
  const { body } = await browser('/about')
  t.match(body, new RegExp(`${context.about.version}.*SQLite.*DATABASE_URL`, 's'))
  t.match(body, '<time datetime="2027-01-15T08:00:00.000Z">')
  t.notMatch(body, 'Documentation')
  Object.assign(context.about, {
    urls: { publicUrl: '', introspectionUrl: '', docsUrl: 'https://docs.example/"x', opsUrl: 'http://127.0.0.1:9464' },
    settings: [{ name: 'DOCS_URL', value: 'https://docs.example/"x', meaning: 'Where to <read>' }],
  })
  const linked = await browser.body('/about')
  t.match(linked, '<a href="https://docs.example/&quot;x" rel="noreferrer">')
  t.match(linked, 'Where to &lt;read&gt;')
  t.match(linked, '<code>http://127.0.0.1:9464/docs</code>', 'no link, because few browsers reach it')
  t.match(linked, 'href="/openapi-admin.yaml"')
  const { headers, body: description } = await browser('/openapi-admin.yaml')
  t.match(headers, { 'content-type': 'application/yaml; charset=utf-8' })
  t.match(description, '/admin/v1/refusals')
})

t.test('Console: each page, also before the sign-in, shows which installation it is', async (t) => {
  const { context, visit, signIn } = await createConsoleWorld(t)
  t.notMatch(await visit.body('/login'), 'class="installation"')
  const DATABASE_URL = parseDatabaseUrl('sqlite::memory:')
  context.about = describe({ DATABASE_URL, INSTALLATION_NAME: '<b>Staging' }, 0)
  t.match(await visit.body('/login'), 'data-color="gray"')
  context.about = describe({ DATABASE_URL, INSTALLATION_NAME: '<b>Staging', INSTALLATION_COLOR: 'amber' }, 0)
  const browser = await signIn()
  for (const body of [await visit.body('/login'), await browser.body('/suites')]) {
    t.match(body, ' · &lt;b&gt;Staging · token-server</title>')
    t.match(body, '<p class="installation" data-color="amber"><bdi>&lt;b&gt;Staging</bdi></p>')
  }
})

t.test('Assets: they have content-hashed URLs, may be cached, and load or evaluate nothing', async (t) => {
  const { visit } = await createConsoleWorld(t)
  for (const [name, type] of [
    ['console.css', 'text/css; charset=utf-8'],
    ['console.js', 'text/javascript; charset=utf-8'],
    ['login.js', 'text/javascript; charset=utf-8'],
    ['icon.svg', 'image/svg+xml; charset=utf-8'],
    ['inter-latin-wght-normal.woff2', 'font/woff2'],
    ['inter-greek-wght-normal.woff2', 'font/woff2'],
  ] as const) {
    t.match(asset(name), /^\/assets\/[a-z-]+-[0-9a-f]{16}\.(css|js|svg|woff2)$/)
    const { statusCode, headers, body } = await visit(asset(name))
    t.equal(statusCode, 200)
    t.match(headers, { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' })
    t.ok(body.length > 100)
    if (/svg|woff2/.test(name)) continue
    t.notMatch(body, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(|DOMParser/)
    t.notMatch(body, /@import|url\((?!\/assets\/inter-[\w-]+-[0-9a-f]{16}\.woff2\))|https?:/)
  }
  for (const url of ['', '/', '/console.css', '/../html.ts', '/%2e%2e/html.ts', '/..%2fhtml.ts']) {
    t.notMatch(await visit.body(`/assets${url}`), /import |:root/, 'no other file or folder is served')
  }
  t.equal(await visit.status('/assets/console.css'), 404)
})

t.test('Assets: every class of the stylesheet is used by a page or a script', async (t) => {
  const css = await readFile(new URL('assets/console.css', CONSOLE), 'utf8')
  const selectors = css.replace(/\/\*.*?\*\//gs, '').matchAll(/([^{}]+)\{/g)
  const classes = new Set(
    [...selectors].flatMap(([, text = '']) => [...text.matchAll(/\.([a-z][\w-]*)/g)].map(([, name = '']) => name)),
  )
  const files = (await readdir(CONSOLE, { recursive: true })).filter((file) => /\.[jt]s$/.test(file))
  const sources = await Promise.all(files.map((file) => readFile(new URL(file, CONSOLE), 'utf8')))
  const words = new Set(sources.join('\n').match(/[a-z][\w-]*/g))
  t.ok(classes.size > 50)
  const unused = [...classes].filter((name) => !words.has(name) && !words.has(name.replace(/\d$/, '')))
  t.strictSame(unused, [])
})
