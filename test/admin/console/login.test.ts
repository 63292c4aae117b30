import t from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { textOf } from '../../support/pages.ts'
import { send } from '../../support/send.ts'

const MINUTE = 60_000

/** The cookie that an answer sets, as a browser sends it. */
const cookieOf = ({ headers }: { headers: Record<string, unknown> }) =>
  String(headers['set-cookie']).split(';')[0] ?? ''

t.test('Login: a code signs its operator in, once; any other is refused with a way out', async (t) => {
  const { codeFor, visit, events, clock } = await createConsoleWorld(t)
  const [code, late] = [await codeFor('admin'), await codeFor('admin')]
  const first = await visit('/login', { form: { code } })
  t.strictSame([first.statusCode, first.headers.location], [303, '/signed-in'])
  t.match(events, [{ type: 'operator logged in', operator: 'anna', remoteAddress: '127.0.0.1' }])
  t.match(
    first.headers['set-cookie'],
    /^__Host-session-80=[A-Za-z0-9]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
    'the cookie is of this host only, and neither for scripts nor for other sites',
  )
  const wrong = ['unknown login link', 'This code is wrong'] as const
  for (const [form, reason, words] of [
    [{ code }, 'used login link', 'This link was used already'],
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
  const names = {
    'localhost:8082': '__Host-session-8082',
    '[::1]:1': '__Host-session-1',
    'console.example': '__Host-session',
  }
  for (const [host, name] of Object.entries(names)) {
    const link = ` http://${host}/login#${await codeFor('admin')} `
    const cookie = cookieOf(await visit('/login', { form: { code: link }, headers: { host } }))
    t.equal(cookie.split('=')[0], name, 'the whole link is accepted instead of its code')
    t.equal((await visit('/about', { headers: { host, cookie: `a=b; ${cookie}` } })).statusCode, 200)
    t.equal((await visit('/about', { headers: { host: 'localhost:8081', cookie } })).headers.location, '/login')
  }
})

t.test('Login: every login gets a new session reference, never one from the request', async (t) => {
  const { codeFor, visit, signIn, store } = await createConsoleWorld(t)
  const chosen = `__Host-session-80=${'A'.repeat(43)}`
  const fixed = await visit('/login', { form: { code: await codeFor('admin') }, headers: { cookie: chosen } })
  t.equal(fixed.statusCode, 303)
  t.type(fixed.headers['set-cookie'], 'string', 'there is one cookie, not a second one that is taken away')
  t.not(cookieOf(fixed), chosen)
  t.equal((await visit('/about', { headers: { cookie: chosen } })).headers.location, '/login?why=ended')

  const browser = await signIn()
  const again = await browser('/login', { form: { code: await codeFor('admin') } })
  t.equal(again.headers.location, '/signed-in', 'the same operator is not asked')
  t.not(cookieOf(again), browser.cookie)
  t.equal((await browser('/about')).statusCode, 303, 'the session before has ended')

  const other = await signIn()
  store.endSession = async () => {
    throw new StoreUnavailable('It is gone.')
  }
  const signedIn = await other('/login', { form: { code: await codeFor('admin') } })
  t.equal(signedIn.statusCode, 503)
  t.not(cookieOf(signedIn), other.cookie)
  t.equal((await visit('/about', { headers: { cookie: cookieOf(signedIn) } })).statusCode, 200, 'or cannot be ended')
})

t.test('Login: its pages have a form that works without JavaScript, and say how to go on', async (t) => {
  const { visit, signIn } = await createConsoleWorld(t)
  const { body } = await visit('/login')
  t.match(body, /token-server console NAME.*npm run -s token-server --/s)
  t.match(body, /<form class="form" method="post" action="\/login" data-login>.*<label for="field-code">Code<\/label>/s)
  t.match((await visit('/login?why=ended')).body, 'Your session has ended')
  t.notMatch((await visit('/login?why=toString')).body, 'class="note')

  const kept = await (await signIn())('/signed-in')
  t.strictSame([kept.statusCode, kept.headers.location], [303, '/'])
  const lost = await visit('/signed-in')
  t.equal(lost.statusCode, 403)
  t.match(lost.body, /did not keep the session.*ADMIN_URL/s)
})

t.test('Login: a link of another operator asks for confirmation first', async (t) => {
  const { codeFor, signIn, visit, events, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  const [code, late] = [await codeFor('viewer'), await codeFor('viewer')]
  const { statusCode, body, headers } = await browser('/login', { form: { code } })
  t.equal(statusCode, 200)
  t.match(body, 'You are signed in as <bdi>anna</bdi>. Sign in as <bdi>viktor</bdi> with this link instead?')
  t.match(
    body,
    `<input type="hidden" name="code" value="${code}"><div class="buttons"><button class="button primary" name="instead"`,
  )
  t.notOk(headers['set-cookie'])
  t.equal((await browser('/about')).statusCode, 200, 'the session goes on')
  t.equal(events.filter(({ type }) => type === 'operator logged in').length, 1)

  const yes = await browser('/login', { form: { code, instead: 'yes' } })
  t.equal(yes.headers.location, '/signed-in')
  t.match((await visit('/about', { headers: { cookie: cookieOf(yes) } })).body, '<bdi>viktor</bdi>')

  const again = await signIn()
  clock.time += 10 * MINUTE
  const expired = await again('/login', { form: { code: late, instead: 'yes' } })
  t.equal(expired.statusCode, 403)
  t.match(expired.body, 'This link has expired.')
  t.match(expired.body, 'Signed in as <a href="/operators"><bdi>anna</bdi>')
})

t.test('Login: a used or expired link opens the overview if the operator is signed in', async (t) => {
  const { codeFor, signIn, visit, clock, events } = await createConsoleWorld(t)
  const [used, expired] = [await codeFor('viewer'), await codeFor('viewer')]
  await visit('/login', { form: { code: used } })
  const browser = await signIn()
  for (const code of [used, expired]) {
    if (code === expired) clock.time += 10 * MINUTE
    const { statusCode, headers } = await browser('/login', { form: { code } })
    t.strictSame([statusCode, headers.location, headers['set-cookie']], [303, '/', undefined])
  }
  t.match(events.slice(-2), [{ reason: 'used login link' }, { reason: 'expired login link' }])
  const wrong = await browser('/login', { form: { code: 'x' } })
  t.equal(wrong.statusCode, 403)
  t.match(wrong.body, 'This code is wrong')
  t.match((await browser('/login')).body, 'You are signed in as <bdi>anna</bdi>. <a href="/">')
})

t.test('Demo: every page says that it is one, what to try and how to sign in without a command', async (t) => {
  const howToSignIn = 'Press Enter in the terminal & open the link.'
  const { visit, signIn } = await createConsoleWorld(t, { howToSignIn })
  const shown = 'Press Enter in the terminal &amp; open the link.'
  const wrong = await visit('/login', { form: { code: 'wrong' } })
  const nobody = await visit('/logout-of-nothing', { form: {} })
  for (const { body } of [await visit('/login'), wrong, await visit('/signed-in'), nobody]) {
    t.match(body, shown)
    t.notMatch(body, 'token-server console')
  }
  t.notMatch((await visit('/login')).body, 'This is a demo', 'but not before signing in')
  const browser = await signIn()
  const [overview, operators] = [(await browser('/')).body, (await browser('/operators')).body]
  t.match(operators, `do not work here, because this server keeps its data in memory. To sign in: ${shown}`)
  for (const body of [overview, operators]) t.match(textOf(body), 'This is a demo. Everything in it is gone')
  t.match(textOf(overview), 'see why it fails: on its page, under Applications')
  const other = await createConsoleWorld(t)
  t.notMatch((await (await other.signIn())('/')).body, 'This is a demo')
})

t.test('Login: a User-Agent is not required', async (t) => {
  const { codeFor, listen, administration } = await createConsoleWorld(t)
  const { status } = await send((await listen()).replace('http://', ''), '/login', {
    method: 'POST',
    headers: { 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' },
    body: `code=${await codeFor('admin')}`,
  })
  t.equal(status, 303)
  t.equal((await administration.operators.show('anna')).sessions[0]?.userAgent, '')
})

t.test('Logout: it ends the session, and does not only delete the cookie', async (t) => {
  const { visit, signIn, events } = await createConsoleWorld(t)
  const browser = await signIn()
  const { statusCode, headers } = await browser('/logout', { form: {} })
  t.strictSame([statusCode, headers.location], [303, '/login?why=out'])
  t.match(headers['set-cookie'], /^__Host-session-80=; .*Max-Age=0$/)
  t.match(events.at(-1), { type: 'session ended', operator: 'anna' })
  t.equal((await browser('/about')).statusCode, 303)
  t.match((await visit('/login?why=out')).body, 'You are signed out.')
  t.equal((await browser('/logout', { form: {} })).statusCode, 303, 'signing out twice is harmless')
})

t.test(
  'Sessions: without one a page redirects to the login; a program with an admin key learns of the API',
  async (t) => {
    const { ask, visit } = await createConsoleWorld(t)
    const without = await visit('/about')
    t.strictSame([without.statusCode, without.headers.location], [303, '/login'])
    t.notOk(without.headers['set-cookie'])
    for (const cookie of [`__Host-session-80=${'A'.repeat(43)}`, 'a=b; __Host-session-80=x']) {
      const unknown = await visit('/about', { headers: { cookie } })
      t.strictSame([unknown.statusCode, unknown.headers.location], [303, '/login?why=ended'])
      t.match(unknown.headers['set-cookie'], /^__Host-session-80=; .*Max-Age=0$/)
    }
    const stream = await visit('/about', { headers: { accept: 'text/event-stream' } })
    t.equal(stream.statusCode, 401, 'other requests than for pages are refused without a redirect')
    t.match(stream.body, 'You are not signed in')
    const person = await visit('/applications', { headers: { authorization: 'Bearer of.a.proxy' } })
    t.equal(person.headers.location, '/login', 'a token added by a proxy is ignored')
    for (const path of ['/admin/v2/applications', '/applications', '/admin/applications']) {
      const method = path === '/admin/applications' ? 'POST' : 'GET'
      const { statusCode, headers, body } = await ask(path, { method, as: 'admin' })
      t.equal(statusCode, 404, path)
      t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
      t.match(JSON.parse(body), { title: 'Not Found', status: 404, detail: 'The API is under /admin/v1/.' })
    }
  },
)

t.test('Sessions: a form that is sent without one gets a page that says that nothing was changed', async (t) => {
  const { visit, signIn, clock, administration } = await createConsoleWorld(t)
  const browser = await signIn()
  clock.time += 15 * MINUTE
  const ended = await browser('/operators/viktor/remove', { form: {} })
  t.equal(ended.statusCode, 401)
  t.match(ended.body, /Your session has ended.*Nothing was changed/s)
  const never = await visit('/operators/viktor/remove', { form: {} })
  t.equal(never.statusCode, 401)
  t.match(never.body, /You are not signed in.*shows what you wrote again/s)
  const program = await visit('/applications', { headers: { accept: '*/*' } })
  t.equal(program.statusCode, 401)
  t.notMatch(program.body, /Nothing was changed|what you wrote/, 'but not if nothing was sent')
  t.equal((await administration.operators.list()).length, 2)
})

t.test('Sessions: a session ends after 15 minutes without a request; assets neither extend nor need one', async (t) => {
  const { signIn, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  clock.time += 15 * MINUTE - 1
  const [asset = ''] = /\/assets\/console-\w+\.css/.exec((await browser('/about')).body) ?? []
  clock.time += 15 * MINUTE - 1
  t.equal((await browser('/about')).statusCode, 200)
  clock.time += 10 * MINUTE
  t.equal((await browser(asset)).statusCode, 200)
  clock.time += 5 * MINUTE
  t.equal((await browser('/about')).headers.location, '/login?why=ended')
})
