import t from 'tap'
import { createConsoleWorld } from '../../support/console-world.ts'

const MINUTE = 60_000

t.test('Sessions: without one a page redirects to the login, which says if a session has ended', async (t) => {
  const { visit } = await createConsoleWorld(t)
  const without = await visit('/about')
  t.strictSame([without.statusCode, without.headers.location], [303, '/login'])
  t.notOk(without.headers['set-cookie'])
  for (const cookie of [`__Host-session-80=${'A'.repeat(43)}`, 'a=b; __Host-session-80=x']) {
    const unknown = await visit('/about', { headers: { cookie } })
    t.strictSame([unknown.statusCode, unknown.headers.location], [303, '/login?why=ended'])
    t.match(unknown.headers['set-cookie'], /^__Host-session-80=; .*Max-Age=0$/)
  }
})

t.test('Sessions: other requests than for pages are refused without a redirect', async (t) => {
  const { visit } = await createConsoleWorld(t)
  const { statusCode, body } = await visit('/about', { headers: { accept: 'text/event-stream' } })
  t.equal(statusCode, 401)
  t.match(body, 'You are not signed in')
})

t.test('Sessions: a program that sends its admin key to a page is pointed to the API', async (t) => {
  const { ask, visit } = await createConsoleWorld(t)
  for (const [method, path] of [
    ['GET', '/admin/v2/applications'],
    ['GET', '/applications'],
    ['POST', '/admin/applications'],
  ] as const) {
    const { statusCode, headers, body } = await ask(path, { method, as: 'admin' })
    t.equal(statusCode, 404, path)
    t.equal(headers['content-type'], 'application/problem+json; charset=utf-8')
    t.match(JSON.parse(body), { title: 'Not Found', status: 404, detail: 'The API is under /admin/v1/.' })
  }
  const person = await visit('/applications', { headers: { authorization: 'Bearer of.a.proxy' } })
  t.equal(person.headers.location, '/login', 'a token added by a proxy is ignored')
})

t.test('Sessions: a form that is sent without one gets a page that says that nothing was changed', async (t) => {
  const { visit, signIn, clock, administration } = await createConsoleWorld(t)
  const browser = await signIn()
  clock.time += 15 * MINUTE
  const ended = await browser('/operators/viktor/remove', { form: {} })
  t.equal(ended.statusCode, 401)
  t.match(ended.body, 'Your session has ended')
  t.match(ended.body, 'Nothing was changed')
  const never = await visit('/operators/viktor/remove', { form: {} })
  t.equal(never.statusCode, 401)
  t.match(never.body, 'You are not signed in')
  t.match(never.body, 'shows what you wrote again')
  const program = await visit('/applications', { headers: { accept: '*/*' } })
  t.equal(program.statusCode, 401)
  t.notMatch(program.body, /Nothing was changed|what you wrote/, 'but not if nothing was sent')
  t.equal((await administration.operators.list()).length, 2)
})

t.test('Sessions: a session ends after 15 minutes without a request', async (t) => {
  const { signIn, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  clock.time += 15 * MINUTE - 1
  t.equal((await browser('/about')).statusCode, 200)
  clock.time += 15 * MINUTE - 1
  t.equal((await browser('/about')).statusCode, 200)
  clock.time += 15 * MINUTE
  t.equal((await browser('/about')).headers.location, '/login?why=ended')
})

t.test('Sessions: a session ends after eight hours, however busy', async (t) => {
  const { signIn, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  const end = clock.time + 8 * 60 * MINUTE
  while (clock.time + 10 * MINUTE < end) {
    clock.time += 10 * MINUTE
    t.equal((await browser('/about')).statusCode, 200)
  }
  clock.time = end - 1
  t.equal((await browser('/about')).statusCode, 200)
  clock.time = end
  t.equal((await browser('/about')).headers.location, '/login?why=ended')
})

t.test('Sessions: assets neither extend nor need a session', async (t) => {
  const { signIn, clock } = await createConsoleWorld(t)
  const browser = await signIn()
  const [asset = ''] = /\/assets\/console-\w+\.css/.exec((await browser('/about')).body) ?? []
  clock.time += 10 * MINUTE
  t.equal((await browser(asset)).statusCode, 200)
  clock.time += 5 * MINUTE
  t.equal((await browser('/about')).statusCode, 303)
})

t.test('Sessions: a session that another operator ends is refused from the next request on', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  const anna = await signIn('admin')
  const viktor = await signIn('viewer')
  const { sessions } = await administration.operators.show('viktor')
  const ended = await anna(`/operators/viktor/sessions/${sessions[0]?.id}/end`, { form: {} })
  t.equal(ended.headers.location, '/operators?done=session-ended')
  t.equal((await viktor('/about')).headers.location, '/login?why=ended')
  t.equal((await anna('/about')).statusCode, 200)
})

t.test('Sessions: all sessions of a removed operator are refused', async (t) => {
  const { signIn, administration } = await createConsoleWorld(t)
  const viktor = await signIn('viewer')
  await administration.operators.remove('viktor')
  t.equal((await viktor('/about')).statusCode, 303)
})
