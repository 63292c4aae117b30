import { once } from 'node:events'
import { request } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { listenForAdmin } from '../../../src/admin/listener.ts'
import { createIdentityProvider } from '../../../src/administration/identity-provider.ts'
import { createSignIn } from '../../../src/administration/sign-in.ts'
import { digestGenerated } from '../../../src/domain/secret.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { cookieOf, createConsoleWorld, textOf } from '../../support/console-world.ts'
import { startProvider } from '../../support/provider.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const URL_OF_CONSOLE = 'https://console.example'
const HOST = { host: 'console.example' }

/** A console whose operators sign in with an identity provider. */
async function start(t: Test, options: Parameters<typeof createConsoleWorld>[1] = {}) {
  const provider = await startProvider(t)
  const client = createIdentityProvider(provider.settings, Date.now)
  const world = await createConsoleWorld(t, { adminUrl: URL_OF_CONSOLE, provider: client, ...options })
  const get = (url: string, cookie = '') => world.visit(url, { headers: { ...HOST, ...(cookie && { cookie }) } })

  /** Signs in at the provider. Resolves to the page after it, and what the browser keeps. `cookie`: of a session; `query`: of the link. */
  async function comeBack(as: string, cookie = '', query = '') {
    const begun = await get(`/login/provider${query}`, cookie)
    const answered = await provider.signIn(begun.headers.location as string, as)
    // The browser does not send a cookie with SameSite=Strict along with the redirect of another site.
    const callback = await get(`/login/callback?${answered}`)
    const [, next = ''] = /^0; url=(.*)$/.exec(String(callback.headers.refresh)) ?? []
    return { begun, callback, next, cookies: `${cookieOf(begun)}; ${cookie}` }
  }

  /** A whole sign-in. Resolves to the answer and the cookie of the session. */
  async function signIn(as: string, cookie?: string) {
    const { next, cookies } = await comeBack(as, cookie)
    const answer = await get(next, cookies)
    return { answer, cookie: cookieOf(answer) }
  }

  const operators = async () => (await world.administration.operators.list()).slice(2)
  return { ...world, ...provider, providerSignIn: provider.signIn, get, comeBack, signIn, operators }
}

t.test('Sign-in with the provider: it makes an operator with a session, whom people know by email', async (t) => {
  const { get, comeBack, events, operators, issuer, ask, store } = await start(t)
  const login = (await get('/login')).body
  t.match(login, /<a class="button primary" href="https:\/\/console\.example\/login\/provider">Sign in with 127/)
  t.match(login, /<details class="prose"><summary>Sign in with a link from the command line.*data-login/s)
  const { begun, callback, next, cookies } = await comeBack('anna')
  t.match(begun.headers['set-cookie'], /^__Host-login=\w{43}; Path=\/; Secure; HttpOnly; SameSite=Lax; Max-Age=600$/)
  t.equal(begun.statusCode, 303)
  t.strictSame([callback.statusCode, callback.headers['set-cookie']], [200, undefined])
  t.match(callback.body, /<a href="\/login\/complete\?code=[^"]+">Continue/, 'a browser without Refresh can go on')
  t.strictSame(await operators(), [], 'nobody is signed in yet')

  const answer = await get(next, cookies)
  t.strictSame([answer.statusCode, answer.headers.location], [303, '/signed-in'])
  t.match(answer.headers['set-cookie'], /^__Host-session=\w{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/)
  const anna = { operator: `${issuer}#anna`, actor: `${issuer}#anna`, origin: 'console' }
  t.match(events, [
    { type: 'operator added', role: 'admin', email: 'anna@company.example', ...anna },
    { type: 'operator logged in', ...anna },
  ])
  const session = cookieOf(answer)
  t.match(
    (await get('/about', session)).body,
    `Signed in as <bdi>anna@company.example (${new URL(issuer).host})</bdi>, admin`,
  )
  const page = textOf((await get('/operators', session)).body)
  t.match(page, /anna@company\.example \(127\S+\) you From the identity provider, as http\S+#anna admin /)
  t.match(page, `as ${issuer}#anna admin `)
  t.match(page, 'Remove… anna@company.example')
  t.match(page, /People with a role at 127.* are added at their first sign-in, and have no keys/)
  const listed = await ask(`/admin/v1/operators/${encodeURIComponent(`${issuer}#anna`)}`, { as: 'viewer' })
  t.match(listed.json(), { name: `${issuer}#anna`, role: 'admin', email: 'anna@company.example', keys: [] })
  t.match(await store.listAuditEvents({ limit: 1 }), [{ action: 'operator logged in', actor: `${issuer}#anna` }])
  const audit = textOf((await get('/audit', session)).body)
  t.match(audit, /Operator added anna@company\.example \(127.*#anna anna@company\.example \(127.*#anna console, 127/)
})

t.test('Sign-in with the provider: once the store has moved, who is new or has a new role is told', async (t) => {
  const { signIn, store, people, operators } = await start(t)
  t.equal((await signIn('vera')).answer.statusCode, 303)
  const { move } = store as unknown as { move: { begin(place: string, at: number): Promise<void> } }
  await move.begin('postgres://new.example/tokens', 1)
  t.equal((await signIn('vera')).answer.statusCode, 303, 'who is known is signed in')
  people.vera = { ...people.anna }
  for (const who of ['anna', 'vera']) {
    const { answer, cookie } = await signIn(who)
    t.equal(answer.statusCode, 409)
    t.match(textOf(answer.body), /copy of the store to postgres:\/\/new\.example\/tokens began .* Nothing was changed/)
    t.notMatch(cookie, /session/)
  }
  t.match(await operators(), [{ email: 'vera', role: 'viewer' }])
})

t.test('Sign-in with the provider: it replaces the session; going back changes nothing', async (t) => {
  const { get, comeBack, signIn, operators, codeFor, visit } = await start(t)
  const first = await signIn('vera')
  const second = await signIn('vera', first.cookie)
  t.equal((await get('/about', first.cookie)).headers.location, '/login?why=ended')
  t.match(await operators(), [{ email: 'vera', role: 'viewer', sessions: [{}] }])
  const { next, cookies } = await comeBack('anna', second.cookie)
  const third = await get(next, cookies)
  t.match((await get('/login', cookieOf(third))).body, 'You are signed in as <bdi>anna@company.example (127')
  const again = await get(next, `${cookies}; ${cookieOf(third)}`.replace(second.cookie, ''))
  t.strictSame([again.statusCode, again.headers.location, again.headers['set-cookie']], [303, '/', undefined])
  const other = await visit('/login', {
    form: { code: await codeFor('viewer') },
    headers: { ...HOST, cookie: cookieOf(third) },
  })
  t.match(
    other.body,
    /You are signed in as <bdi>anna@company.example \(127\S+\)<\/bdi>. Sign in as <bdi>viktor<\/bdi> with this link/,
  )
})

t.test('Sign-in with the provider: the role is read at each, and a change of it ends the other sessions', async (t) => {
  const { get, signIn, people, operators, events, issuer } = await start(t)
  const [admin, same] = [await signIn('anna'), await signIn('anna')]
  t.equal((await get('/about', admin.cookie)).statusCode, 200)
  people.anna = { preferred_username: 'anna', groups: ['support'] }
  const viewer = await signIn('anna')
  for (const { cookie } of [admin, same]) t.equal((await get('/about', cookie)).statusCode, 303)
  const shown = (await get('/about', viewer.cookie)).body
  t.match(shown, /<bdi>anna \(127\S+\)<\/bdi>, viewer/, 'there is an operator anna of the command line')
  const name = `${issuer}#anna`
  t.match(events.slice(-2), [
    { type: 'operator updated', operator: name, role: 'viewer', email: 'anna', actor: name },
    { type: 'operator logged in' },
  ])

  people.anna = { preferred_username: 'anna', groups: ['everyone'] }
  const { answer } = await signIn('anna')
  t.strictSame([answer.statusCode, answer.headers['set-cookie']], [403, undefined])
  const said = textOf(answer.body)
  t.match(said, /You are signed in at 127.* as anna \(127\S+\) , but this account has no role here\. Ask an admin/)
  t.equal((await get('/about', viewer.cookie)).statusCode, 303, 'the sessions have ended')
  t.strictSame(await operators(), [])
  t.match(events.slice(-2), [
    { type: 'operator removed', operator: name, actor: name },
    { type: 'operator refused', reason: 'no role', operator: name },
  ])
  t.equal((await signIn('nora')).answer.statusCode, 403)
  t.match(events.at(-1), { type: 'operator refused', reason: 'no role', operator: `${issuer}#nora` })
})

t.test('Sign-in with the provider: a failure says what to do, keeps the link as a way in, and is logged', async (t) => {
  const { get, comeBack, signIn, events, lines, state, store, close } = await start(t)
  const refused = (await signIn('stranger')).answer
  t.equal(refused.statusCode, 403)
  t.match(
    refused.body,
    /<bdi>127\.0\.0\.1:\d+<\/bdi> refused the sign-in, or sent an invalid answer: <bdi>access_denied: &lt;b&gt;No/,
  )
  t.match(events.at(-1), {
    type: 'operator refused',
    reason: 'provider refused',
    detail: 'access_denied: <b>No</b> entry',
  })

  const { next, cookies } = await comeBack('anna')
  for (const cookie of ['', '__Host-login=x']) {
    const { statusCode, body } = await get(next, cookie)
    t.equal(statusCode, 403)
    t.match(body, 'This sign-in was not begun in this browser')
  }
  state.tamper = ({ claims }) => (claims.nonce = 'x')
  const invalid = await get(next, cookies)
  t.match(invalid.body, /sent an invalid answer: <bdi>[^<]*nonce.*Request id <code>/s)
  t.match(events.at(-1), { reason: 'provider refused', detail: /nonce/ })

  state.tamper = undefined
  const unstored = await comeBack('anna')
  const { findOperator } = store
  store.findOperator = () => Promise.reject(new StoreUnavailable('gone'))
  t.match((await get(unstored.next, unstored.cookies)).body, 'The database cannot be used now. Try again.')
  store.findOperator = findOperator
  const late = await comeBack('anna')
  await close()
  const away = await get(late.next, late.cookies)
  t.equal(away.statusCode, 503)
  t.equal((await get('/login/provider')).statusCode, 503)
  t.match(away.body, /does not answer as expected.*<details class="prose" open>.*data-login/s)
  t.notMatch(away.body, 'ECONNREFUSED', 'how the network looks inside is for the log')
  t.match(events.at(-1), { reason: 'provider unavailable', detail: /fetch failed/ })
  for (const path of [next, late.next]) t.notMatch(lines.join(''), /code=([^&]+)/.exec(path)?.[1] as string)
})

t.test('Sign-in with the provider: it begins at the address of the console, not for another site', async (t) => {
  const { visit, get, state } = await start(t)
  for (const headers of [{ host: 'localhost:8081' }, { ...HOST, 'sec-fetch-site': 'cross-site' }]) {
    const { statusCode, headers: answer } = await visit('/login/provider', { headers })
    t.strictSame([statusCode, answer.location, answer['set-cookie']], [303, `${URL_OF_CONSOLE}/login`, undefined])
  }
  t.strictSame(state.asked, [])
  for (const site of ['none', 'same-origin']) {
    const { headers } = await visit('/login/provider', { headers: { ...HOST, 'sec-fetch-site': site } })
    t.match(headers.location, '/auth?')
  }
  const evil = await get('/login/callback?url=//evil.example&a="><script>')
  t.equal(evil.headers.refresh, '0; url=/login/complete?url=%2F%2Fevil.example&a=%22%3E%3Cscript%3E')
  t.notMatch(evil.body, '<script>"')

  const without = await createConsoleWorld(t)
  for (const path of ['provider', 'complete']) {
    t.equal((await without.visit(`/login/${path}`)).statusCode, 404, path)
  }
})

t.test('Sign-in with the provider: one address cannot begin any number of them', async (t) => {
  const { get, state } = await start(t)
  for (let n = 0; n < 20; n++) t.equal((await get('/login/complete')).statusCode, 403)
  t.equal((await get('/login/complete')).statusCode, 429)
  t.equal((await get('/login/provider')).statusCode, 303, 'the other step has its own budget')
  for (let n = 1; n < 20; n++) await get('/login/provider')
  const asked = state.asked.length
  const { statusCode, body } = await get('/login/provider')
  t.equal(statusCode, 429)
  t.match(textOf(body), 'Too many requests Too many sign-ins have begun at your address.')
  t.equal(state.asked.length, asked)
})

t.test('Sessions: a page that asks for them links to the provider', async (t) => {
  const { visit, get } = await start(t)
  t.match(await visit.body('/applications', { headers: { ...HOST, accept: '*/*' } }), /login\/provider">Sign in with/)
  t.match((await get('/signed-in')).body, /login\/provider">Sign in with/)
})

/** The forms whose effect cannot be undone: where, and what they send. */
const FOR_GOOD: [path: string, form: Record<string, string>][] = [
  ['/applications/a%2F/remove', {}],
  ['/applications/a%2F/secrets', { overlap: '0' }],
  ['/applications/a%2F/hand-over-links', { overlap: '0' }],
  ['/suites/store/remove', {}],
  ['/suites/store/secrets', { overlap: '0' }],
  ['/applications/a%2F/secrets/1/revoke', {}],
  ['/suites/store/secrets/1/revoke', {}],
  ['/applications/a%2F/revoke-tokens', {}],
  ['/operators/viktor/keys/1/revoke', {}],
  ['/operators/viktor/remove', {}],
]

/** The console with an application and a suite, at the time of the provider, and who is signed in. */
async function startChanges(t: Test) {
  const world = await start(t, { handOverUrl: 'https://token.example/hand-over' })
  world.clock.time = Date.now()
  await world.administration.applications.register({ clientId: 'a/', name: 'Shop' })
  await world.administration.suites.register({ suiteId: 'store', name: 'Store API' })
  const post = (url: string, cookie: string, form: Record<string, string>) =>
    world.visit(url, { form, headers: { ...HOST, cookie } })
  const secrets = async () => (await world.administration.secrets.list('a/')).length
  return { ...world, post, secrets }
}

t.test('ASVS 7.5.3: what cannot be undone needs a sign-in at the provider in the last 15 minutes', async (t) => {
  const { get, post, secrets, signIn, clock, issuer, ...world } = await startChanges(t)
  const { cookie } = await signIn('anna')
  for (const [path, form] of FOR_GOOD) {
    const { statusCode, body } = await post(path, cookie, form)
    t.equal(statusCode, 403, path)
    t.match(textOf(body), /Sign in again first .*Nothing was changed\. .* within the last 15 minutes/)
  }
  t.equal(await secrets(), 1)
  t.equal((await post('/applications/a%2F/secrets', cookie, { overlap: '3600' })).statusCode, 200, 'with an overlap')

  const asked = await get('/applications/a%2F/remove', cookie)
  t.match(asked.body, '<a class="button" href="/applications/a%2F">Cancel</a>')
  const [, href = ''] =
    /<a class="button primary" href="https:\/\/console\.example([^"]*)">Sign in again with/.exec(asked.body) ?? []
  const begun = await get(href, cookie)
  t.match(begun.headers.location, /&max_age=600/)
  const query = await world.providerSignIn(begun.headers.location as string, 'anna')
  const answer = await get(`/login/complete?${query}`, `${cookieOf(begun)}; ${cookie}`)
  t.strictSame([answer.statusCode, answer.headers.location], [303, '/applications/a%2F/remove'])
  t.equal((await get('/about', cookie)).statusCode, 303, 'the new session replaces the previous one')
  const fresh = cookieOf(answer)
  t.match((await get('/applications/a%2F/remove', fresh)).body, 'Remove it')
  const [anna] = await world.operators()
  for (const [path, form] of FOR_GOOD.slice(1)) t.not((await post(path, fresh, form)).statusCode, 403, path)

  clock.time += 10 * 60_000
  await get('/about', fresh)
  clock.time = Number(anna?.sessions[0]?.authenticatedAt) + 15 * 60_000
  t.equal((await get('/applications/a%2F/remove', fresh)).statusCode, 200)
  clock.time++
  t.equal((await get('/applications/a%2F/remove', fresh)).statusCode, 403)
  for (const path of ['remove', 'secrets/1/revoke', 'revoke-tokens'])
    t.equal((await post(`/applications/a%2F/${path}`, fresh, {})).statusCode, 403, path)
  t.match((await get('/login/provider?back=/operators', fresh)).headers.location, 'max_age')
  const elsewhere = ['//evil.example', 'https://evil.example']
  for (const wrong of [...elsewhere, '/operators/viktor', '/applications/a/b', '/applications/a?x']) {
    const { headers } = await get(`/login/provider?${new URLSearchParams({ back: wrong })}`, fresh)
    t.notMatch(headers.location, 'max_age', wrong)
  }
})

t.test('OpenID Connect Core §3.1.3.7: no auth_time, or an old one, permits nothing', async (t) => {
  const { get, comeBack, signIn, state, events, store } = await startChanges(t)
  const { cookie } = await signIn('anna')
  for (const [auth_time, why] of [
    [undefined, 'missing'],
    [1, 'too old'],
  ] as const) {
    state.tamper = ({ claims }) => Object.assign(claims, { auth_time })
    const { next, cookies } = await comeBack('anna', cookie, '?back=/applications/a')
    const { statusCode, body, headers } = await get(next, cookies)
    t.strictSame([statusCode, headers['set-cookie']], [403, undefined])
    const shown = textOf(body)
    t.match(shown, `does not say that you have signed in again within the last 15 minutes ( auth_time is ${why} )`)
    t.match(events.at(-1), { type: 'operator refused', reason: 'old sign-in', detail: `auth_time is ${why}` })
  }
  t.equal((await get('/about', cookie)).statusCode, 200, 'the session goes on')
  t.not(await store.findApplication('a/'), undefined)
})

t.test('ASVS 7.5.3: somebody who signed in with a link uses a new link', async (t) => {
  const { post, codeFor, visit, clock, get, secrets } = await startChanges(t)
  const login = await visit('/login', { form: { code: await codeFor('admin') }, headers: HOST })
  const cookie = cookieOf(login)
  const rotate = () => post('/applications/a%2F/secrets', cookie, { overlap: '0' })
  t.equal((await rotate()).statusCode, 200)
  clock.time += 14 * 60_000
  await get('/about', cookie)
  clock.time += 2 * 60_000
  const { statusCode, body } = await rotate()
  t.equal(statusCode, 403)
  t.match(body, 'Run <code>token-server console anna</code>')
  t.equal(await secrets(), 2)
})

t.test('OPERATORS=provider: links and sessions of links are refused; keys and the provider work', async (t) => {
  const { get, visit, store, clock, events, ask, codeFor, signIn, close } = await start(t, { onlyProvider: true })
  const { logIn } = createSignIn({ store, now: () => clock.time, observe: () => {} })
  const from = { remoteAddress: '192.0.2.1', userAgent: 'Browser', requestId: 'r' }
  const earlier = await logIn(await codeFor('admin'), from)
  if (typeof earlier === 'string') throw new Error(earlier)
  const page = await get('/about', `__Host-session=${earlier.reference}`)
  t.strictSame([page.statusCode, page.headers.location], [303, '/login?why=ended'])
  const code = await codeFor('admin')
  const refused = await visit('/login', { form: { code }, headers: HOST })
  t.strictSame([refused.statusCode, refused.headers['set-cookie']], [403, undefined])
  t.match(textOf(refused.body), 'Login links are not accepted here (OPERATORS=provider).')
  t.match(events.at(-1), { type: 'operator refused', reason: 'login links not accepted' })
  t.not(await store.findLoginCode(digestGenerated(code)), undefined, 'the link is not used up')
  t.notMatch((await get('/login')).body, 'data-login')
  t.equal((await ask('/admin/v1/suites', { as: 'admin' })).statusCode, 200)
  const { cookie } = await signIn('anna')
  const operators = (await get('/operators', cookie)).body
  t.match(operators, 'token-server operators key NAME')
  t.notMatch(operators, 'token-server console')
  await close()
  const shown = textOf((await get('/login/provider')).body)
  t.match(shown, 'does not answer as expected. Try again, or use the command line.')
})

t.test('Sign-in with the provider: behind a Unix socket each client has limits of its own', async (t) => {
  const { app, events } = await start(t)
  const socketPath = join(temporaryFolder(t), 'admin.sock')
  await listenForAdmin(app.server, { socket: socketPath })
  async function statusFor(forwarded: string, host = HOST.host, path = '/login/provider'): Promise<number | undefined> {
    const headers = { host, ...(forwarded && { 'x-forwarded-for': forwarded }) }
    const [response] = await once(request({ socketPath, path, headers, agent: false }).end(), 'response')
    response.resume()
    return response.statusCode
  }
  const statuses = []
  for (let n = 0; n < 21; n++) statuses.push(await statusFor(`203.0.113.${n}, 192.0.2.1`))
  t.strictSame(statuses.slice(-2), [303, 429], 'the address that the proxy has added counts')
  t.equal(await statusFor('192.0.2.1, 192.0.2.2'), 303)
  t.equal(await statusFor(''), 303)
  await statusFor('192.0.2.1', HOST.host, '/login/complete')
  t.equal(events.at(-1)?.type, 'operator refused')
  t.match(events.at(-1), { remoteAddress: '192.0.2.1 via unix socket' })
  for (const [forwarded, host] of Object.entries({ '192.0.2.1': 'localhost', nonsense: HOST.host })) {
    await statusFor(forwarded, host, '/login/complete')
    t.match(events.at(-1), { remoteAddress: 'unix socket' }, 'the header is not one of the proxy')
  }
})
