import { once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { cookieOf, createConsoleWorld, valuesOf } from '../../support/console-world.ts'
import { send } from '../../support/send.ts'

const MINUTE = 60_000

t.test('Login: a code signs its operator in, once; any other is refused with a way out', async (t) => {
  const { codeFor, visit, events, clock } = await createConsoleWorld(t)
  const [code, late] = [await codeFor('admin'), await codeFor('admin')]
  const first = await visit('/login', { form: { code } })
  t.strictSame([first.statusCode, first.headers.location], [303, '/signed-in'])
  t.match(events, [{ type: 'operator logged in', operator: 'anna', remoteAddress: '127.0.0.1' }])
  const ofThisHostOnly = /^__Host-session-80=[A-Za-z0-9]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/
  t.match(first.headers['set-cookie'], ofThisHostOnly, 'neither for scripts nor for other sites')
  const wrong = ['unknown login link', 'This code is wrong'] as const
  for (const [form, reason, words] of [
    [{ code }, 'used login link', 'This link has already been used'],
    [{ code: late }, 'expired login link', 'This link has expired. Each link works for ten minutes.'],
    [{ code: '<script>' }, ...wrong],
    [{ code: '' }, ...wrong],
    [{}, ...wrong],
    [{ code: ['a', 'b'] }, ...wrong],
  ] as const) {
    if (reason === 'expired login link') clock.time += 10 * MINUTE
    const { statusCode, body, headers } = await visit('/login', { form: form as { code: string } })
    t.equal(statusCode, 403, words)
    t.match(body, `${words}`)
    t.match(body, /aria-invalid="true".*Get a new link as described above\./s)
    t.notMatch(body, code)
    t.notOk(headers['set-cookie'])
    t.match(events.at(-1), { type: 'operator refused', reason, remoteAddress: '127.0.0.1' })
  }
})

t.test('Login: the name of the cookie contains the port, because cookies are not separated by port', async (t) => {
  const { codeFor, visit } = await createConsoleWorld(t, { adminUrl: 'https://console.example' })
  const ports = { 'localhost:8082': '-8082', '[::1]:1': '-1', 'console.example': '' }
  for (const [host, port] of Object.entries(ports)) {
    const link = ` http://${host}/login#${await codeFor('admin')} `
    const cookie = cookieOf(await visit('/login', { form: { code: link }, headers: { host } }))
    t.equal(cookie.split('=')[0], `__Host-session${port}`, 'the whole link is accepted instead of its code')
    t.equal(await visit.status('/about', { headers: { host, cookie: `a=b; ${cookie}` } }), 200)
    t.equal(await visit.location('/about', { headers: { host: 'localhost:8081', cookie } }), '/login')
  }
})

t.test('Login: every login gets a new session reference, never one from the request', async (t) => {
  const { codeFor, visit, signIn, store, listen, administration } = await createConsoleWorld(t)
  const chosen = `__Host-session-80=${'A'.repeat(43)}`
  const fixed = await visit('/login', { form: { code: await codeFor('admin') }, headers: { cookie: chosen } })
  t.equal(fixed.statusCode, 303)
  t.type(fixed.headers['set-cookie'], 'string', 'there is one cookie, not a second one that is taken away')
  t.not(cookieOf(fixed), chosen)
  t.equal(await visit.location('/about', { headers: { cookie: chosen } }), '/login?why=ended')

  const browser = await signIn()
  const again = await browser('/login', { form: { code: await codeFor('admin') } })
  t.equal(again.headers.location, '/signed-in', 'the same operator is not asked')
  t.not(cookieOf(again), browser.cookie)
  t.equal(await browser.status('/about'), 303, 'the session before has ended')

  const other = await signIn()
  const { change } = store
  store.change = async (one, audit) => {
    if (one.type === 'session ended') throw new StoreUnavailable('It is gone.')
    return change(one, audit)
  }
  const signedIn = await other('/login', { form: { code: await codeFor('admin') } })
  t.equal(signedIn.statusCode, 503)
  t.not(cookieOf(signedIn), other.cookie)
  t.equal(await visit.status('/about', { headers: { cookie: cookieOf(signedIn) } }), 200, 'or cannot be ended')

  const { status } = await send((await listen()).replace('http://', ''), '/login', {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    body: `code=${await codeFor('viewer')}`,
  })
  t.equal(status, 303)
  t.match((await administration.operators.show('viktor')).sessions, [{ userAgent: '' }], 'a User-Agent is not required')
})

t.test('Login: its pages have a form that works without JavaScript, and say how to go on', async (t) => {
  const { visit, signIn } = await createConsoleWorld(t)
  const { body } = await visit('/login')
  t.match(body, /token-server console NAME.*npx token-server/s)
  t.match(body, /<form class="form" method="post" action="\/login" data-login>.*<label for="field-code">Code<\/label>/s)
  t.match(await visit.body('/login?why=ended'), /Your session has ended: .*, or because your role was changed or/)
  t.notMatch(await visit.body('/login?why=toString'), 'class="note')

  const kept = await (await signIn())('/signed-in')
  t.strictSame([kept.statusCode, kept.headers.location], [303, '/'])
  const lost = await visit('/signed-in')
  t.equal(lost.statusCode, 403)
  t.match(lost.body, /did not keep the session.*ADMIN_URL/s)
})

t.test('Login: a link of another operator asks first; one that is over opens the overview', async (t) => {
  const { codeFor, signIn, visit, events, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  const [code, late] = [await codeFor('viewer'), await codeFor('viewer')]
  const { statusCode, body, headers } = await browser('/login', { form: { code } })
  t.equal(statusCode, 200)
  t.match(body, 'You are signed in as <bdi>anna</bdi>. Sign in as <bdi>viktor</bdi> with this link instead?')
  t.match(body, `name="code" value="${code}"><div class="buttons"><button class="button primary" name="instead"`)
  t.notOk(headers['set-cookie'])
  t.equal(await browser.status('/about'), 200, 'the session goes on')
  t.equal(events.filter(({ type }) => type === 'operator logged in').length, 1)

  const yes = await browser('/login', { form: { code, instead: 'yes' } })
  t.equal(yes.headers.location, '/signed-in')
  t.match(await visit.body('/about', { headers: { cookie: cookieOf(yes) } }), '<bdi>viktor</bdi>')

  const again = await signIn()
  for (const [sent, reason] of [
    [code, 'used login link'],
    [late, 'expired login link'],
  ] as const) {
    if (sent === late) clock.time += 10 * MINUTE
    const { statusCode, headers } = await again('/login', { form: { code: sent } })
    t.strictSame([statusCode, headers.location, headers['set-cookie']], [303, '/', undefined], 'the overview opens')
    t.match(events.at(-1), { reason })
  }
  for (const [form, words] of [
    [{ code: late, instead: 'yes' }, 'This link has expired.'],
    [{ code: 'x' }, 'This code is wrong'],
  ] as const) {
    const { statusCode, body } = await again('/login', { form })
    t.equal(statusCode, 403)
    t.match(body, words)
    t.match(body, 'Signed in as <bdi>anna</bdi>')
  }
  t.match(await again.body('/login'), 'You are signed in as <bdi>anna</bdi>. <a href="/">')
})

t.test('Demo: every page says that it is one, what to try and how to sign in without a command', async (t) => {
  const howToSignIn = 'Press Enter in the terminal & open the link.'
  const { visit, signIn } = await createConsoleWorld(t, { howToSignIn })
  for (const [url, sent] of [
    ['/login', {}],
    ['/login', { form: { code: 'wrong' } }],
    ['/signed-in', {}],
    ['/logout-of-nothing', { form: {} }],
  ] as const) {
    const text = await visit.text(url, sent)
    t.match(text, howToSignIn)
    t.notMatch(text, /token-server console|This is a demo/, 'before signing in')
  }
  const browser = await signIn()
  const [overview, operators] = [await browser.text('/'), await browser.text('/operators')]
  t.match(operators, `does not work here: this server keeps its data in memory. To sign in: ${howToSignIn}`)
  for (const text of [overview, operators]) t.match(text, 'This is a demo , with made-up partners.')
  const other = await createConsoleWorld(t)
  t.notMatch((await (await other.signIn())('/')).body, 'This is a demo')
})

t.test('Logout: it ends the session, and does not only delete the cookie', async (t) => {
  const { visit, signIn, events } = await createConsoleWorld(t)
  const browser = await signIn()
  for (const _twice of [1, 2]) {
    const { statusCode, headers } = await browser('/logout', { form: {} })
    t.strictSame([statusCode, headers.location], [303, '/login?why=out'])
    t.match(headers['set-cookie'], /^__Host-session-80=; .*Max-Age=0$/)
    t.match(events.at(-1), { type: 'session ended', operator: 'anna' })
  }
  t.equal(await browser.status('/about'), 303)
  t.match(await visit.body('/login?why=out'), 'You are signed out.')
})

t.test('Sessions: without one a page leads to the login, and a form says that it did nothing', async (t) => {
  const { ask, visit, signIn, clock, administration } = await createConsoleWorld(t)
  const without = await visit('/about')
  t.strictSame([without.statusCode, without.headers.location], [303, '/login'])
  t.notOk(without.headers['set-cookie'])
  for (const cookie of [`__Host-session-80=${'A'.repeat(43)}`, 'a=b; __Host-session-80=x']) {
    const unknown = await visit('/about', { headers: { cookie } })
    t.strictSame([unknown.statusCode, unknown.headers.location], [303, '/login?why=ended'])
    t.match(unknown.headers['set-cookie'], /^__Host-session-80=; .*Max-Age=0$/)
  }
  const person = await visit('/applications', { headers: { authorization: 'Bearer of.a.proxy' } })
  t.equal(person.headers.location, '/login', 'a token added by a proxy is ignored')
  for (const path of ['/admin/v2/applications', '/applications', '/admin/applications']) {
    const { headers, body } = await ask(path, { method: path === '/admin/applications' ? 'POST' : 'GET', as: 'admin' })
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8', path)
    t.match(JSON.parse(body), { title: 'Not Found', status: 404, detail: 'The API is under /admin/v1/.' })
  }

  const browser = await signIn()
  clock.time += 15 * MINUTE
  const remove = ['/operators/viktor/remove', { form: {} }] as const
  for (const [{ statusCode, body }, words] of [
    [await browser(...remove), /Your session has ended.*Nothing was changed.*when your role is changed/s],
    [await visit(...remove), /^(?!.*kept on this page).*You are not signed in.*Nothing was changed/s],
    // What sends nothing, and is no page.
    [await visit('/about', { headers: { accept: 'text/event-stream' } }), /^(?!.*Nothing was changed).*not signed in/s],
    [await visit('/applications', { headers: { accept: '*/*' } }), /^(?!.*kept on this page).*not signed in/s],
  ] as const) {
    t.equal(statusCode, 401)
    t.match(body, words)
  }
  t.equal((await administration.operators.list()).length, 2)
})

t.test('Sessions: a form sent after the end of one is kept, and can be sent again after signing in', async (t) => {
  const { signIn, visit, codeFor, store, clock, administration, listen, events } = await createConsoleWorld(t)
  const browser = await signIn()
  clock.time += 15 * MINUTE
  const form = { request_key: 'key', suite_id: 'store', name: `<b>"ü"` }
  for (const late of [await browser('/new-suite', { form }), await visit('/new-suite', { form })]) {
    t.equal(late.statusCode, 401)
    t.match(late.body, '<form method="post">')
    t.match(late.body, 'What you entered is kept on this page.')
    for (const [name, value] of Object.entries(form)) t.strictSame(valuesOf(late.body, name), [value])
  }
  const large = await visit('/new-suite', { form: { name: 'x'.repeat(70_000) } })
  t.strictSame([large.statusCode, large.body.includes('kept on this page')], [401, false])
  const many = await visit('/new-suite', { form: Object.fromEntries(Array.from({ length: 501 }, (_, n) => [n, ''])) })
  t.strictSame([many.statusCode, many.body.includes('kept on this page')], [401, false])
  t.equal(await visit.status('/new-suite', { form, headers: { 'sec-fetch-site': 'cross-site' } }), 403)

  const again = await signIn()
  const { register } = store
  store.register = async () => Promise.reject(new StoreUnavailable())
  const [code, { change }] = [await codeFor('admin'), store]
  store.change = store.register as never
  const login = await visit('/login', { form: { code } })
  t.strictSame([login.statusCode, login.body.includes(code)], [503, false], 'a login code is not shown')
  store.change = change
  const failed = await again('/new-suite', { form })
  t.equal(failed.statusCode, 503)
  for (const [name, value] of Object.entries(form)) t.strictSame(valuesOf(failed.body, name), [value])
  store.register = register
  t.equal(await again.status('/new-suite', { form }), 200)
  t.match(await administration.suites.show('store'), { name: form.name })

  const { host } = new URL(await listen())
  const [address = '', port] = host.split(':')
  const socket = connect(Number(port), address)
  socket.end(
    `POST /new-suite HTTP/1.1\r\nhost: ${host}\r\nsec-fetch-site: same-origin\r\ncontent-length: 9\r\n\r\nname`,
  )
  await once(socket.resume(), 'close')
  const bugs = events.filter((event) => event.type === 'request failed' && event.status === 500)
  t.strictSame(bugs, [], 'a form that is cut off is no failure of the server')
})

t.test('Sessions: a page extends one; assets neither extend nor need one', async (t) => {
  const { signIn, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  clock.time += 15 * MINUTE - 1
  const [asset = ''] = /\/assets\/console-\w+\.css/.exec(await browser.body('/about')) ?? []
  clock.time += 15 * MINUTE - 1
  t.equal(await browser.status(asset), 200)
  clock.time += 1
  t.equal(await browser.location('/about'), '/login?why=ended')
  t.equal(await browser.status(asset), 200)
})
