import t from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { send } from '../../support/send.ts'

const MINUTE = 60_000

t.test('Login: a code signs its operator in, once', async (t) => {
  const { codeFor, visit, events } = await createConsoleWorld(t)
  const code = await codeFor('admin')
  const first = await visit('/login', { form: { code } })
  t.equal(first.statusCode, 303)
  t.equal(first.headers.location, '/signed-in')
  t.match(events, [{ type: 'operator logged in', operator: 'anna', remoteAddress: '127.0.0.1' }])

  const second = await visit('/login', { form: { code } })
  t.equal(second.statusCode, 403)
  t.match(second.body, 'This link was used already')
  t.match(second.body, 'Get a new link as described above.')
  t.notOk(second.headers['set-cookie'])
  t.match(events.at(-1), { type: 'operator refused', reason: 'used login link', remoteAddress: '127.0.0.1' })
  t.notMatch(second.body, code)
})

t.test('Login: a code expires after ten minutes, and the page says so', async (t) => {
  const { codeFor, visit, clock, events } = await createConsoleWorld(t)
  const code = await codeFor('admin')
  clock.time += 10 * MINUTE
  const { statusCode, body } = await visit('/login', { form: { code } })
  t.equal(statusCode, 403)
  t.match(body, 'This link has expired. Each link works for ten minutes.')
  t.match(events, [{ type: 'operator refused', reason: 'expired login link' }])
})

t.test('Login: a malformed or missing code is refused', async (t) => {
  const { visit } = await createConsoleWorld(t)
  for (const form of [{ code: '<script>' }, { code: '' }, {}, { code: ['a', 'b'] }]) {
    const { statusCode, body, headers } = await visit('/login', { form })
    t.equal(statusCode, 403)
    t.match(body, 'This code is wrong')
    t.match(body, 'aria-invalid="true"')
    t.notOk(headers['set-cookie'])
  }
})

t.test('Login: the whole link is accepted instead of its code', async (t) => {
  const { codeFor, visit } = await createConsoleWorld(t)
  const code = ` http://localhost:8081/login#${await codeFor('admin')} `
  t.equal((await visit('/login', { form: { code } })).statusCode, 303)
})

t.test('Login: the cookie is host-only, HttpOnly and SameSite=Strict', async (t) => {
  const { codeFor, visit } = await createConsoleWorld(t)
  const { headers } = await visit('/login', { form: { code: await codeFor('admin') } })
  t.match(headers['set-cookie'], /^__Host-session-80=[A-Za-z0-9]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/)
})

t.test('Login: the name of the cookie contains the port, because cookies are not separated by port', async (t) => {
  const { codeFor, visit } = await createConsoleWorld(t, { adminUrl: 'https://console.example' })
  const names = {
    'localhost:8082': '__Host-session-8082',
    '[::1]:1': '__Host-session-1',
    'console.example': '__Host-session',
  }
  for (const [host, name] of Object.entries(names)) {
    const { headers } = await visit('/login', { form: { code: await codeFor('admin') }, headers: { host } })
    const [cookie = ''] = String(headers['set-cookie']).split(';')
    t.equal(cookie.split('=')[0], name)
    t.equal((await visit('/about', { headers: { host, cookie: `a=b; ${cookie}` } })).statusCode, 200)
    t.equal((await visit('/about', { headers: { host: 'localhost:8081', cookie } })).headers.location, '/login')
  }
})

t.test('Login: every login gets a new session reference, never one from the request', async (t) => {
  const { codeFor, visit, signIn } = await createConsoleWorld(t)
  const chosen = `__Host-session-80=${'A'.repeat(43)}`
  const fixed = await visit('/login', { form: { code: await codeFor('admin') }, headers: { cookie: chosen } })
  t.equal(fixed.statusCode, 303)
  t.type(fixed.headers['set-cookie'], 'string', 'there is one cookie, not a second one that is taken away')
  t.notMatch(fixed.headers['set-cookie'], chosen)
  t.equal((await visit('/about', { headers: { cookie: chosen } })).headers.location, '/login?why=ended')

  const browser = await signIn()
  const again = await browser('/login', { form: { code: await codeFor('viewer'), instead: 'yes' } })
  t.equal(again.statusCode, 303)
  const cookie = String(again.headers['set-cookie']).split(';')[0] as string
  t.not(cookie, browser.cookie)
  t.match((await visit('/about', { headers: { cookie } })).body, '<bdi>viktor</bdi>')
  t.equal((await browser('/about')).statusCode, 303, 'the session before has ended')
})

t.test('Login: after signing in the overview opens, or a page that says that the cookie was not kept', async (t) => {
  const { visit, signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  const kept = await browser('/signed-in')
  t.strictSame([kept.statusCode, kept.headers.location], [303, '/'])
  const lost = await visit('/signed-in')
  t.equal(lost.statusCode, 403)
  t.match(lost.body, 'did not keep the session')
  t.match(lost.body, 'ADMIN_URL')
})

t.test('Login: the page has a form that works without JavaScript, and says how to get a code', async (t) => {
  const { visit } = await createConsoleWorld(t)
  const { statusCode, body } = await visit('/login')
  t.equal(statusCode, 200)
  t.match(body, '<form class="form" method="post" action="/login" data-login>')
  t.match(body, '<label for="field-code">Code</label>')
  t.match(body, 'token-server console NAME')
  t.match(body, 'npm run -s token-server --')
  t.match((await visit('/login?why=ended')).body, 'Your session has ended')
  t.notMatch((await visit('/login?why=toString')).body, 'class="note')
})

t.test('Login: a link of another operator asks for confirmation first', async (t) => {
  const { codeFor, signIn, visit, events } = await createConsoleWorld(t)
  const browser = await signIn()
  const code = await codeFor('viewer')
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
  const [cookie = ''] = String(yes.headers['set-cookie']).split(';')
  t.match((await visit('/about', { headers: { cookie } })).body, '<bdi>viktor</bdi>')
})

t.test('Login: a used or expired link opens the overview if the operator is signed in', async (t) => {
  const { codeFor, signIn, clock, events } = await createConsoleWorld(t)
  const browser = await signIn()
  const [used, expired] = [await codeFor('viewer'), await codeFor('viewer')]
  await browser('/login', { form: { code: used, instead: 'yes' } })
  const again = await signIn()
  for (const code of [used, expired]) {
    if (code === expired) clock.time += 10 * MINUTE
    const { statusCode, headers } = await again('/login', { form: { code } })
    t.strictSame([statusCode, headers.location, headers['set-cookie']], [303, '/', undefined])
  }
  t.match(events.slice(-2), [{ reason: 'used login link' }, { reason: 'expired login link' }])
  const wrong = await again('/login', { form: { code: 'x' } })
  t.equal(wrong.statusCode, 403)
  t.match(wrong.body, 'This code is wrong')
  t.match((await again('/login')).body, 'You are signed in as <bdi>anna</bdi>. <a href="/">')
})

t.test('Login: if the link expires before the change of operator is confirmed, the page says so', async (t) => {
  const { codeFor, signIn, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  const code = await codeFor('viewer')
  t.match((await browser('/login', { form: { code } })).body, 'Sign in as viktor?')
  clock.time += 10 * MINUTE
  const { statusCode, body } = await browser('/login', { form: { code, instead: 'yes' } })
  t.equal(statusCode, 403)
  t.match(body, 'This link has expired.')
  t.match(body, 'Signed in as <a href="/operators"><bdi>anna</bdi>')
})

t.test('Login: a new link of the same operator starts a new session without confirmation', async (t) => {
  const { codeFor, signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  const { headers } = await browser('/login', { form: { code: await codeFor('admin') } })
  t.equal(headers.location, '/signed-in')
  t.equal((await browser('/about')).statusCode, 303)
})

t.test('Login: if no command can print a link, the pages say how to get one', async (t) => {
  const howToSignIn = 'Press Enter in the terminal & open the link.'
  const { visit, signIn } = await createConsoleWorld(t, { howToSignIn })
  const shown = 'Press Enter in the terminal &amp; open the link.'
  const pages = [
    await visit('/login'),
    await visit('/login', { form: { code: 'wrong' } }),
    await visit('/signed-in'),
    await visit('/logout-of-nothing', { form: {} }),
  ]
  for (const { body } of pages) {
    t.match(body, shown)
    t.notMatch(body, 'token-server console')
  }
  t.match(
    (await (await signIn())('/operators')).body,
    `These commands do not work here, because this server keeps its data in memory. To sign in: ${shown}`,
  )
})

t.test('Login: it succeeds even if the previous session cannot be ended', async (t) => {
  const { codeFor, signIn, visit, store } = await createConsoleWorld(t)
  const browser = await signIn()
  store.endSession = async () => {
    throw new StoreUnavailable('It is gone.')
  }
  const { statusCode, headers } = await browser('/login', { form: { code: await codeFor('admin') } })
  t.equal(statusCode, 503)
  const [cookie = ''] = String(headers['set-cookie']).split(';')
  t.not(cookie, browser.cookie)
  t.equal((await visit('/about', { headers: { cookie } })).statusCode, 200)
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
