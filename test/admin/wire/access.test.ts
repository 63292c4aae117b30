import { Readable } from 'node:stream'
import t from 'tap'
import { EXCEPTIONS } from '../../../src/admin/wire/access.ts'
import { createAdminWorld } from '../../support/admin.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { until } from '../../support/until.ts'

const SAFE = ['GET', 'HEAD']

/** The headers of a form of the console. */
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

t.test('Access: every route except the login and the assets requires authentication', async (t) => {
  const { routes, ask } = await createAdminWorld(t)
  for (const { method, url, path } of routes) {
    const { statusCode, headers } = await ask(path, { method, headers: SAME_ORIGIN })
    const isRefused = statusCode === 401 || (statusCode === 303 && headers.location === '/login')
    t.equal(isRefused, EXCEPTIONS[`${method} ${url}`] !== 'anyone', `${method} ${url}: ${statusCode}`)
  }
})

t.test('Access: a viewer can use no route that makes a change, except to end their own sessions', async (t) => {
  const { routes, ask, signIn } = await createConsoleWorld(t)
  const browser = await signIn('viewer')
  for (const { method, url, path } of routes.filter(({ method }) => !SAFE.includes(method))) {
    if (EXCEPTIONS[`${method} ${url}`]) continue
    const isApi = path.startsWith('/admin/v1/')
    const { statusCode } = isApi
      ? await ask(path, { method, as: 'viewer' })
      : await browser(path, { method, headers: SAME_ORIGIN })
    t.equal(statusCode, 403, `${method} ${url}`)
  }
})

t.test('Access: a change is refused if its operator is removed while the body arrives', async (t) => {
  for (const origin of ['API', 'console']) {
    const { app, keys, signIn, administration, clock, store } = await createConsoleWorld(t)
    const { cookie } = await signIn()
    clock.time += 2 * 60_000
    const anna = async () => (await administration.operators.list()).find(({ name }) => name === 'anna')
    // Both are set when a request is authenticated.
    const hasBegun = async () =>
      (origin === 'API' ? (await anna())?.keys[0]?.lastUsedAt : (await anna())?.sessions[0]?.lastSeenAt) === clock.time
    const [path, type, text, credential] =
      origin === 'API'
        ? ['/admin/v1/suites', 'application/json', '{"id":"s","name":"S"}', { authorization: `Bearer ${keys.admin}` }]
        : ['/new-suite', 'application/x-www-form-urlencoded', 'suite_id=s&name=S', { ...SAME_ORIGIN, cookie }]
    const body = new Readable({ read() {} })
    body.push(text.slice(0, 5))
    const headers = { 'content-type': type, ...credential }
    const answer = app.inject({ method: 'POST', url: path, headers, payload: body })
    await until(hasBegun)
    await administration.operators.remove('anna')
    body.push(text.slice(5))
    body.push(null)
    t.equal((await answer).statusCode, 401, origin)
    t.strictSame(await store.listSuites({ limit: 1 }), [], origin)
  }
})

t.test('Access: a session reference is not accepted by the API', async (t) => {
  const { app, signIn } = await createConsoleWorld(t)
  const { cookie } = await signIn()
  const [, reference = ''] = cookie.split('=')
  const url = '/admin/v1/applications'
  t.equal((await app.inject({ url, headers: { authorization: `Bearer ${reference}` } })).statusCode, 401, 'as a key')
  t.equal((await app.inject({ url, headers: { ...SAME_ORIGIN, cookie } })).statusCode, 401, 'as a cookie')
})

t.test('Access: every exception is an existing route', async (t) => {
  const world = await createAdminWorld(t)
  const routes = world.routes.map(({ method, url }) => `${method} ${url}`)
  for (const exception of Object.keys(EXCEPTIONS)) t.ok(routes.includes(exception), exception)
  t.ok(routes.length > Object.keys(EXCEPTIONS).length)
})
