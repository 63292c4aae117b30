import { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import { EXCEPTIONS } from '../../../src/admin/wire/access.ts'
import { callerOf } from '../../../src/admin/wire/caller.ts'
import { createAdminWorld } from '../../support/admin.ts'
import { createConsoleWorld } from '../../support/console-world.ts'
import { until } from '../../support/until.ts'

const isRead = ({ method }: { method: string }) => ['GET', 'HEAD'].includes(method)
const isOfApi = ({ url }: { url: string }) => url.startsWith('/admin/v1/')

/** The headers of a form of the console. */
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' }

t.test('Access: every route except the login and the assets requires authentication', async (t) => {
  const { routes, ask } = await createAdminWorld(t)
  const all = routes.map(({ method, url }) => `${method} ${url}`)
  for (const exception of Object.keys(EXCEPTIONS)) t.ok(all.includes(exception), `${exception} is a route`)
  for (const { method, url, path } of routes) {
    for (const headers of [SAME_ORIGIN, { ...SAME_ORIGIN, authorization: 'Bearer otsa_x', cookie: 'session=x' }]) {
      const answer = await ask(path, { method, headers })
      const isRefused = answer.statusCode === 401 || answer.headers.location === '/login'
      const rule = EXCEPTIONS[`${method.replace('HEAD', 'GET')} ${url}`]
      t.equal(isRefused, rule !== 'anyone', `${method} ${url}: ${answer.statusCode}`)
    }
  }
})

t.test('Access: a viewer can read everything, and make no change, except to end their own sessions', async (t) => {
  const { routes, ask, signIn, events } = await createConsoleWorld(t)
  const browser = await signIn('viewer')
  events.length = 0
  const changes = routes.filter((route) => !isRead(route) && !EXCEPTIONS[`${route.method} ${route.url}`])
  t.ok(changes.filter(isOfApi).length >= 18)
  for (const route of changes) {
    const { method, url, path } = route
    // A body that would be refused if it were read.
    const sent = { method, payload: '{', headers: { ...SAME_ORIGIN, 'content-type': 'application/json' } }
    const { statusCode } = isOfApi(route) ? await ask(path, { ...sent, as: 'viewer' }) : await browser(path, sent)
    t.equal(statusCode, 403, `${method} ${url}`)
  }
  t.equal(events.length, changes.length)
  t.strictSame(new Set(events.map(({ type }) => type)), new Set(['operator refused']), 'nothing was changed')
  for (const { path } of routes.filter((route) => isRead(route) && isOfApi(route))) {
    const { statusCode } = await ask(path, { as: 'viewer' })
    t.ok([200, 404].includes(statusCode), path)
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

t.test('Caller: an unauthenticated request has no author', async (t) => {
  t.throws(() => callerOf({ caller: null } as FastifyRequest), /^The request is not authenticated\.$/)
})

const PATH = '/admin/v1/nothing'

t.test('RFC 6750 §3: a request without a key or with a wrong one is refused, and the reason is logged', async (t) => {
  const { ask, keys, events, lines, administration } = await createAdminWorld(t)
  const { adminKey, id } = await administration.operators.addKey('anna', 86_400_000)
  await administration.operators.revokeKey('anna', id)
  const other = await createAdminWorld(t)
  const malformed = ['', 'Basic YTpi', 'Bearer', 'Bearer a b', 'Bearer x', `Bearer ${keys.admin}x`]
  const cases: [authorization: string | undefined, reason: string][] = [
    [undefined, 'no credentials'],
    ...malformed.map((text): [string, string] => [text, 'malformed key']),
    [`Bearer ${other.keys.admin}`, 'unknown key'],
    [`Bearer ${adminKey}`, 'revoked key'],
  ]
  for (const [authorization, reason] of cases) {
    events.length = 0
    const { headers, json } = await ask(PATH, { headers: authorization === undefined ? {} : { authorization } })
    t.match(json(), { title: 'Unauthorized', status: 401 })
    t.match(headers, {
      'content-type': 'application/problem+json; charset=utf-8',
      'www-authenticate': `Bearer realm="admin"${authorization === undefined ? '' : ', error="invalid_token"'}`,
    })
    t.equal(events.length, 1)
    t.match(events, [{ type: 'operator refused', reason, remoteAddress: '127.0.0.1' }], `${authorization}`)
  }
  t.match(events, [{ operator: 'anna', keyId: id }], 'to find the program that still uses it')
  for (const key of [keys.admin, adminKey, other.keys.admin]) t.notMatch(lines.join(''), key.slice(5, 20))
})

t.test('API: only a key in the header is accepted, before body and path are read', async (t) => {
  const { ask, keys, signIn } = await createConsoleWorld(t)
  const status = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).statusCode
  t.equal(await status(PATH, { method: 'POST', json: {} }), 401)
  t.equal(await status('/admin/v1/suites', { method: 'POST', payload: 'x'.repeat(1e6) }), 401)
  t.equal(await status(PATH, { as: 'admin' }), 404)
  t.equal(await status(PATH, { headers: { authorization: `bearer  ${keys.admin} ` } }), 404, 'a scheme in any case')
  t.equal(await status(`${PATH}?access_token=${keys.admin}`), 401)
  const { cookie } = await signIn()
  const wrong = [`access_token=${keys.admin}`, cookie].map((cookie) => ({ ...SAME_ORIGIN, cookie }))
  for (const headers of [...wrong, { authorization: `Bearer ${cookie.split('=')[1]}` }]) {
    t.equal(await status(PATH, { headers }), 401)
  }
})
