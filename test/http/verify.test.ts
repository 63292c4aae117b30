import { METHODS } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { ApplicationChanges } from '../../src/domain/application.ts'
import { listening, statuses } from '../support/listening.ts'
import { refused } from '../support/refused.ts'
import { send } from '../support/send.ts'
import { createWorldOfSuites, createWorldWithFile, ENDINGS, PUBLIC_URL } from '../support/world.ts'

const PATH = '/v1/oauth/verify/store'

/** A world with a token, and a gateway that forwards the header unchanged. */
async function createGateway(t: Test) {
  const world = await createWorldOfSuites(t)
  const ask = (authorization: string) => world.app.inject({ url: PATH, headers: { authorization } })
  return { ...world, ask, accessToken: await world.token() }
}

t.test('RFC 9110 §5.5: the gateway gets the client of a token in any script, reversibly encoded', async (t) => {
  const { post, administration, verify } = await createWorldOfSuites(t)
  const [clientId, name, developerEmail] = ['%41', '日本語 🛒 100 % "Ünï"', 'ü@b.example']
  const { clientSecret } = await administration.register({ clientId, name, developerEmail })
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret as string }
  const { statusCode, body, headers } = await verify((await post(form)).json().access_token, '')
  t.strictSame([statusCode, body], [200, ''])
  const values = ['x-client-id', 'x-application-name', 'x-developer-email'].map((title) => String(headers[title]))
  t.match(values.join(''), /^[\x21-\x7e]+$/)
  t.strictSame(values.map(decodeURIComponent), [clientId, name, developerEmail])
})

t.test('Public labels: suites and gateways see those that are chosen, and nothing where there are none', async (t) => {
  const { token, administration, credentials, verify, introspect } = await createWorldOfSuites(t)
  const seen = async (changes: ApplicationChanges) => {
    await administration.update(credentials.client_id, changes)
    const accessToken = await token()
    const { headers } = await verify(accessToken)
    return [headers['x-application-labels'], (await introspect(accessToken)).json().labels]
  }
  const labels = { tier: 'gold', 'x/y.z_1-2': 'a,b=c; "d" % ü🛒', secret: 'internal', constructor: 'x' }
  t.strictSame(await seen({ labels }), [undefined, undefined])
  t.strictSame(await seen({ publicLabels: ['nothing', 'tostring'] }), [undefined, undefined])
  t.strictSame(await seen({ publicLabels: ['tier'] }), ['tier=gold', { tier: 'gold' }])
  const [header, described] = await seen({ publicLabels: ['x/y.z_1-2', 'tier', 'constructor'] })
  const { secret, ...shown } = labels
  t.strictSame(described, shown)
  t.match(header, /^[\x21-\x7e]+$/)
  const pairs = String(header)
    .split(',')
    .map((pair) => pair.split('='))
  t.strictSame(Object.fromEntries(pairs.map(([key, value = '']) => [key, decodeURIComponent(value)])), shown)
  t.strictSame(await seen({ labels: {} }), [undefined, undefined])
})

for (const [token, [end, reason]] of Object.entries(ENDINGS)) {
  t.test(`RFC 6750 §3.1, RFC 7662 §2.2: ${token} is refused, and the log has the reason`, async (t) => {
    const world = await createGateway(t)
    const { verify, introspect, accessToken, lines, logged } = world
    t.equal((await verify(accessToken)).statusCode, 200)
    t.equal((await introspect(accessToken)).json().active, true)
    await end(world, accessToken)
    lines.length = 0
    refused(t, await verify(accessToken), 401, 'invalid_token', /./)
    const described = await introspect(accessToken)
    t.strictSame([described.statusCode, described.body], [200, '{"active":false}'], 'and nothing else is revealed')
    const line = { msg: 'token refused', suite: 'store', reason }
    t.match(logged(), [line, line])
  })
}

t.test('RFC 6750 §3: a request without a token gets a challenge and no error code', async (t) => {
  const { app, verify, ask } = await createGateway(t)
  const elsewhere = { 'x-access-token': 'x', cookie: 'access_token=x', 'proxy-authorization': 'Bearer x' }
  const answers = [
    await verify(undefined),
    await app.inject({ url: `${PATH}?access_token=x`, headers: elsewhere }),
    // Without a token, as sent by clients that got none.
    ...(await Promise.all(['Basic eDp5', '', 'Bearers x', 'Bearer', 'Bearer ', 'bearer   '].map(ask))),
  ]
  for (const answer of answers) {
    const challenge = answer.headers['www-authenticate']
    t.strictSame([answer.statusCode, answer.body, challenge], [401, '', `Bearer realm="${PUBLIC_URL}"`])
  }
})

t.test('RFC 9110 §5.5: a challenge has only characters that a header may have, whatever PUBLIC_URL has', async (t) => {
  const { app } = await createWorldOfSuites(t, { publicUrl: 'https://пример.рф/ü%20' })
  const { statusCode, headers } = await app.inject({ url: PATH })
  const realm = `https://${encodeURIComponent('пример')}.${encodeURIComponent('рф')}/%C3%BC%20`
  t.strictSame([statusCode, headers['www-authenticate']], [401, `Bearer realm="${realm}"`])
})

t.test('RFC 9110 §5.3: a doubled header gets 400, whichever comes first; of an unknown suite 404', async (t) => {
  const { app, accessToken, basic } = await createGateway(t)
  const { exchange } = await listening(t, app)
  const valid = `Authorization: Bearer ${accessToken}`
  const form = 'Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 7'
  const [introspection, unknown] = ['POST /v1/oauth/introspect', 'GET /v1/oauth/verify/nowhere']
  const cases: [status: number, request: string, headers: string[], body?: string][] = [
    [400, `GET ${PATH}`, [valid, 'authorization: Bearer x']],
    [400, `GET ${PATH}`, ['AUTHORIZATION: Basic x', valid]],
    [400, introspection, [form, `Authorization: ${basic}`, 'authorization: Basic eDp5'], 'token=x'],
    [400, introspection, [form, 'Authorization: Bearer x', `authorization: ${basic}`], 'token=x'],
    [404, unknown, ['Authorization: Bearer x', 'Authorization: Bearer y']],
    [404, unknown, ['Authorization: Bearer']],
    [404, unknown, []],
  ]
  for (const [status, request, headers, body = ''] of cases) {
    const head = [`${request} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers].join('\r\n')
    t.strictSame(statuses(await exchange(`${head}\r\n\r\n${body}`)), [status], `${request} ${headers.join()}`)
  }
})

t.test('Gateways: any method and body, and path and query after the suite, are accepted', async (t) => {
  const { app, accessToken } = await createGateway(t)
  const { host } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  const headers = { authorization: `Bearer ${accessToken}` }
  const rests = ['/orders/5?a=b', '?', '?suite=other', '/', '//', '/%zz', '/../product-information', '/a'.repeat(2500)]
  const bodies = {
    ...{ 'application/json': '{"a":', 'application/x-www-form-urlencoded': 'a=1&a=2' },
    ...{ 'x/y': 'x'.repeat(100_000), nonsense: 'x' },
  }
  const refused: unknown[] = []
  async function check(path: string, options: Parameters<typeof send>[2] = {}) {
    const { status } = await send(host, path, { ...options, headers: { ...headers, ...options.headers } })
    if (status !== 200) refused.push([path, options])
  }
  for (const method of METHODS.filter((name) => name !== 'CONNECT')) await check(PATH, { method })
  for (const path of [...rests.map((rest) => PATH + rest), '/v1/oauth/verify?a=b']) await check(path)
  for (const [type, body] of Object.entries(bodies)) {
    await check(PATH, { method: 'POST', headers: { 'content-type': type }, body })
  }
  t.strictSame(refused, [])
})

t.test('Gateways: an unknown suite gets 404, with a valid token too, and so does an empty one', async (t) => {
  const { verify, accessToken, administration } = await createGateway(t)
  for (const path of ['/nowhere', '/', '//', '/STORE', '/store%2Forders', '/%', `/${'a'.repeat(200)}`]) {
    const { statusCode } = await verify(accessToken, path)
    t.equal(statusCode, path === '/%' || path.length > 100 ? 400 : 404, path)
  }
  refused(t, await verify(undefined, '/nowhere'), 404, 'invalid_request', /suite/)
  await administration.removeSuite('store')
  refused(t, await verify(accessToken), 404, 'invalid_request', /suite/)
})

t.test('RFC 9110 §15.6.4: if the store cannot be read, the answer is 503, neither yes nor no', async (t) => {
  const { verify, introspect, token, other } = await createWorldWithFile(t, { lockTimeout: 0 })
  const [accessToken, checkedBefore] = [await token(), await token()]
  const statusesOf = async (token: string) => [(await verify(token)).statusCode, (await introspect(token)).statusCode]
  t.strictSame(await statusesOf(checkedBefore), [200, 200])
  other.exec('ALTER TABLE tokens RENAME TO elsewhere')
  t.strictSame(await statusesOf(accessToken), [503, 503])
  other.exec('ALTER TABLE elsewhere RENAME TO tokens; ALTER TABLE changes RENAME TO elsewhere')
  await nextTurn()
  t.strictSame(await statusesOf(checkedBefore), [503, 503], 'cached rows are not used without a check')
})

t.test('Gateways: a check writes nothing, and does not wait for a writer', async (t) => {
  const { verify, introspect, token, other } = await createWorldWithFile(t, { lockTimeout: 0 })
  const accessToken = await token()
  const version = other.pragma('data_version')
  t.equal((await introspect(accessToken)).statusCode, 200)
  t.equal((await verify(accessToken)).statusCode, 200)
  t.strictSame(other.pragma('data_version'), version)
  other.exec('BEGIN EXCLUSIVE')
  t.equal((await verify(accessToken)).statusCode, 200)
})
