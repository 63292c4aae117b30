import t from 'tap'
import { createConsoleWorld } from '../../support/console-world.ts'

const DAY = 24 * 60 * 60_000

t.test('Operators: an admin sees all operators with keys and sessions, and which session is their own', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  await signIn('viewer')
  const browser = await signIn()
  const { statusCode, body } = await browser('/operators', { headers: { 'user-agent': 'x' } })
  t.equal(statusCode, 200)
  for (const name of ['anna', 'viktor']) t.match(body, `<h2 id="operator-${name}"><bdi>${name}</bdi>`)
  t.match(body, '<bdi>anna</bdi> <span class="badge quiet">admin</span> <span class="badge good">you</span>')
  t.equal(body.split('this one').length, 2)
  t.match(body, 'token-server operators add NAME --role viewer')
  t.match(body, 'action="/operators/viktor/remove"')
  t.match(body, 'action="/operators/viktor/keys/2/revoke"')
  t.match(body, 'This is you')
})

t.test('Operators: the browser of a session has a short name, and the full User-Agent on hover', async (t) => {
  const { signIn, administration, context } = await createConsoleWorld(t)
  const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
  for (const one of [userAgent, 'curl/<8>']) {
    const { code } = await administration.operators.makeLoginCode('anna')
    await context.signIn.logIn(code, { remoteAddress: '192.0.2.1', userAgent: one, requestId: 'request-1' })
  }
  const { body } = await (await signIn())('/operators')
  t.match(body, `title="${userAgent}">Firefox 140, Linux</span>`)
  t.match(body, 'title="curl/&lt;8&gt;">curl/&lt;8&gt;</span>')
})

t.test('Operators: a key can be revoked once', async (t) => {
  const { signIn, ask } = await createConsoleWorld(t)
  const browser = await signIn()
  t.equal(
    (await browser('/operators/viktor/keys/2/revoke', { form: {} })).headers.location,
    '/operators?done=key-revoked',
  )
  t.equal((await ask('/admin/v1/nothing', { as: 'viewer' })).statusCode, 401)
  const { body } = await browser('/operators')
  t.match(body, /<span class="badge bad">revoked<\/span> <time/)
  t.notMatch(body, '/operators/viktor/keys/2/revoke')
})

t.test('Operators: expired keys, and operators without keys or sessions, are shown as such', async (t) => {
  const { signIn, administration, clock } = await createConsoleWorld(t)
  await administration.operators.add('new', 'viewer')
  await administration.operators.revokeKey('anna', 1)
  clock.time += 30 * DAY
  const { body } = await (await signIn())('/operators')
  t.match(body, 'expired')
  t.match(body, 'No API keys.')
  t.match(body, 'Not signed in now.')
})

t.test('Operators: removing your own operator signs you out', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  const browser = await signIn()
  const removed = await browser('/operators/viktor/remove', { form: {} })
  t.equal(removed.headers.location, '/operators?done=operator-removed')
  const again = await browser('/operators/viktor/remove', { form: {} })
  t.equal(again.statusCode, 404)
  t.match(again.body, 'There is no operator with the name viktor.')
  t.equal((await browser('/operators/anna/remove', { form: {} })).statusCode, 303)
  t.equal((await browser('/operators')).headers.location, '/login?why=ended')
  t.strictSame(await administration.operators.list(), [])
})

t.test('Operators: the page says if an operator has no keys', async (t) => {
  const { signIn, store, administration } = await createConsoleWorld(t)
  await administration.operators.remove('anna')
  await administration.operators.add('anna', 'admin')
  t.ok(store)
  t.match((await (await signIn())('/operators')).body, 'No API keys.')
})

t.test('Operators: a viewer can only end their own sessions, and other changes are refused', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  await signIn('admin')
  const browser = await signIn('viewer')
  const { body } = await browser('/operators')
  t.match(body, 'You are a viewer')
  const actions = [...body.matchAll(/action="([^"]+)"/g)].map(([, action]) => action)
  const [own] = (await administration.operators.show('viktor')).sessions
  const [other] = (await administration.operators.show('anna')).sessions
  t.strictSame(actions, ['/logout', `/operators/viktor/sessions/${own?.id}/end`])
  t.match(body, 'You are signed out at once.')
  t.notMatch(body, 'The browser of this session', 'which is said of other sessions only')
  await signIn('viewer')
  t.match((await browser('/operators')).body, 'The browser of this session is signed out at once.')

  const refused = [
    '/operators/anna/remove',
    '/operators/anna/keys/1/revoke',
    `/operators/anna/sessions/${other?.id}/end`,
  ]
  for (const url of refused) {
    const { statusCode, body } = await browser(url, { form: {} })
    t.equal(statusCode, 403, url)
    t.match(body, 'A viewer can look at everything')
  }
  t.equal((await browser(`/operators/viktor/sessions/${own?.id}/end`, { form: {} })).statusCode, 303)
  t.equal((await browser('/operators')).statusCode, 303)
})

t.test('Operators: an unknown key or session is not found', async (t) => {
  const { signIn } = await createConsoleWorld(t)
  const browser = await signIn()
  for (const url of [
    '/operators/anna/keys/99/revoke',
    '/operators/anna/keys/x/revoke',
    '/operators/anna/sessions/x/end',
    '/operators/nobody/sessions/1/end',
  ]) {
    t.equal((await browser(url, { form: {} })).statusCode, 404, url)
  }
})
