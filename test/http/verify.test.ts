import { once } from 'node:events'
import http, { METHODS } from 'node:http'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t from 'tap'
import { withoutForeignPath } from '../../src/http/wire/target.ts'
import { refused } from '../support/refused.ts'
import { createWorldOfSuites, ENDINGS, ID } from '../support/suites.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { PUBLIC_URL, START } from '../support/world.ts'

const REALM = `Bearer realm="${PUBLIC_URL}"`

t.test('RFC 6750 §2.1: a request with a valid token passes, and its client is named to the gateway', async (t) => {
  const { verify, token, credentials } = await createWorldOfSuites(t)
  const answer = await verify(await token())
  t.strictSame([answer.statusCode, answer.body], [200, ''])
  t.match(answer.headers, {
    'cache-control': 'no-store',
    'content-length': '0',
    'x-client-id': credentials.client_id,
    'x-application-name': 'St%C3%B6re%20%E2%9C%93',
    'x-developer-email': 'developer@partner.example',
    'x-token-id': ID,
    'x-token-expires': String(START / 1000 + 3600),
  })
  t.equal(decodeURIComponent(answer.headers['x-application-name'] as string), 'Störe ✓')
})

t.test('RFC 9110 §5.5: a header names an application in any script, legally and reversibly', async (t) => {
  const { app, post, administration } = await createWorldOfSuites(t)
  const names = ['100 % "Ünï"', '日本語 🛒', "~!*'();:@&=+$,/?#[]", '%41', 'עברית']
  for (const [n, name] of names.entries()) {
    const email = `ü${n}@b.example`
    const { clientId, clientSecret } = await administration.register({
      name,
      developerEmail: email,
      clientId: `%4${n}`,
    })
    const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret as string }
    const authorization = `Bearer ${(await post(form)).json().access_token}`
    const { headers } = await app.inject({ url: '/v1/oauth/verify/store', headers: { authorization } })
    const values = [headers['x-application-name'], headers['x-developer-email'], headers['x-client-id']] as string[]
    for (const value of values) t.match(value, /^[\x21-\x7e]+$/)
    t.strictSame(values.map(decodeURIComponent), [name, email, clientId])
  }
})

for (const [token, [end, reason]] of Object.entries(ENDINGS)) {
  t.test(`RFC 6750 §3.1: ${token} does not pass, and the log has the reason`, async (t) => {
    const world = await createWorldOfSuites(t)
    const accessToken = await world.token()
    t.equal((await world.verify(accessToken)).statusCode, 200)
    await end(world, accessToken)
    const answer = await world.verify(accessToken)
    refused(t, answer, 401, 'invalid_token', /./)
    t.match(answer.headers['www-authenticate'], `${REALM}, error="invalid_token"`)
    t.equal(answer.headers['x-client-id'], undefined)
    t.match(JSON.parse(world.lines.at(-1) as string), { reason })
  })
}

t.test('RFC 6750 §3: a request without a token gets a challenge and no error code', async (t) => {
  const { app, verify } = await createWorldOfSuites(t)
  const others = { 'x-access-token': 'x', cookie: 'access_token=x', 'proxy-authorization': 'Bearer x' }
  const answers = [
    await verify(undefined),
    await app.inject({ url: '/v1/oauth/verify/store', headers: { authorization: 'Basic eDp5' } }),
    await app.inject({ url: '/v1/oauth/verify/store', headers: { authorization: '' } }),
    await app.inject({ url: '/v1/oauth/verify/store', headers: { authorization: 'Bearers x' } }),
    await app.inject({ url: '/v1/oauth/verify/store?access_token=x', headers: others }),
  ]
  for (const answer of answers) {
    t.strictSame([answer.statusCode, answer.body, answer.headers['www-authenticate']], [401, '', REALM])
    t.equal(answer.headers['cache-control'], 'no-store')
  }
})

t.test('RFC 6750 §3.1: an application that is not approved for the suite gets 403', async (t) => {
  const { verify, token } = await createWorldOfSuites(t)
  const accessToken = await token()
  const answer = await verify(accessToken, '/product-information')
  refused(t, answer, 403, 'insufficient_scope', /approved/)
  t.match(answer.headers['www-authenticate'], `${REALM}, error="insufficient_scope"`)
  t.equal((await verify(accessToken, '')).statusCode, 200, 'without a suite any valid token passes')
})

t.test('RFC 6750 §3.1: a malformed header gets 400', async (t) => {
  const { app, token } = await createWorldOfSuites(t)
  const accessToken = await token()
  for (const authorization of ['bearer a b', `Bearer ${accessToken},`, 'Bearer "a"', 'Bearer =']) {
    const answer = await app.inject({ url: '/v1/oauth/verify/store', headers: { authorization } })
    refused(t, answer, 400, 'invalid_request', /malformed/)
  }
})

t.test('RFC 9110 §5.3: a doubled header gets 400, whichever comes first', async (t) => {
  const { app, token } = await createWorldOfSuites(t)
  const { port } = new URL(await app.listen({ port: 0 }))
  const valid = ['Authorization', `Bearer ${await token()}`]
  for (const headers of [
    [...valid, 'authorization', 'Bearer x'],
    ['AUTHORIZATION', 'Basic x', ...valid],
  ]) {
    // Node.js does not join an array of them: each goes out on a line of its own.
    const request = http.request({ port, path: '/v1/oauth/verify/store', headers: ['Host', 'a', ...headers] }).end()
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    t.equal(response.statusCode, 400)
  }
})

t.test('RFC 9110 §11.1: the scheme is read in any case', async (t) => {
  const { app, token } = await createWorldOfSuites(t)
  for (const scheme of ['Bearer', 'bearer', 'BEARER', 'bEARER ']) {
    const authorization = `${scheme} ${await token()}`
    t.equal((await app.inject({ url: '/v1/oauth/verify/store', headers: { authorization } })).statusCode, 200)
  }
})

t.test('Gateways: any method, body, path and query behind the suite is accepted, however malformed', async (t) => {
  const { app, token } = await createWorldOfSuites(t)
  const { port } = new URL(await app.listen({ port: 0 }))
  const authorization = `Bearer ${await token()}`
  const statusOf = async (method: string, path: string, headers: Record<string, string> = {}, body?: string) => {
    const request = http.request({ port, method, path, headers: { authorization, ...headers }, agent: false })
    request.end(body)
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    response.resume()
    return response.statusCode
  }
  for (const method of METHODS.filter((name) => name !== 'CONNECT')) {
    t.equal(await statusOf(method, '/v1/oauth/verify/store'), 200, method)
  }
  for (const rest of [
    '/orders/5?a=b',
    '?',
    '?suite=other',
    '/',
    '//',
    '/%zz',
    '/../product-information',
    `/${'a'.repeat(5000)}`,
  ]) {
    t.equal(await statusOf('GET', `/v1/oauth/verify/store${rest}`), 200, rest)
  }
  t.equal(await statusOf('GET', '/v1/oauth/verify?a=b'), 200)
  const bodies = {
    'application/json': '{"a":',
    'application/x-www-form-urlencoded': 'a=1&a=2',
    'x/y': 'x'.repeat(100_000),
    nonsense: 'x',
  }
  for (const [type, body] of Object.entries(bodies)) {
    t.equal(await statusOf('POST', '/v1/oauth/verify/store', { 'content-type': type }, body), 200, type)
  }
})

t.test('Gateways: an unknown suite gets 404, with a valid token too, and so does an empty one', async (t) => {
  const { verify, token, administration } = await createWorldOfSuites(t)
  const accessToken = await token()
  for (const path of ['/nowhere', '/', '//', '/STORE', '/store%2Forders', '/%', `/${'a'.repeat(200)}`]) {
    const { statusCode } = await verify(accessToken, path)
    t.ok([400, 404].includes(statusCode), `${path}: ${statusCode}`)
  }
  refused(t, await verify(undefined, '/nowhere'), 404, 'invalid_request', /suite/)
  await administration.removeSuite('store')
  refused(t, await verify(accessToken), 404, 'invalid_request', /suite/)
})

t.test('Gateways: the suite is never lost from the target, and other targets stay as they are', async (t) => {
  const prefix = '/v1/oauth/verify'
  for (const [target, kept] of [
    [prefix, prefix],
    [`${prefix}?a`, prefix],
    [`${prefix}/`, `${prefix}/`],
    [`${prefix}//store`, `${prefix}/`],
    [`${prefix}/store`, `${prefix}/store`],
    [`${prefix}/store?a/b`, `${prefix}/store`],
    [`${prefix}/store/orders?a`, `${prefix}/store`],
    [`${prefix}/store#a`, `${prefix}/store`],
    [`${prefix}er/store?a`, `${prefix}er/store?a`],
    ['/v1/oauth/accesstoken?a', '/v1/oauth/accesstoken?a'],
  ]) {
    t.equal(withoutForeignPath(target as string), kept)
  }
})

t.test('RFC 9110 §15.6.4: where the store cannot be read the answer is 503, never 200 and never 401', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { verify, token } = await createWorldOfSuites(t, { databaseUrl: `sqlite:${file}` })
  const [accessToken, checkedBefore] = [await token(), await token()]
  t.equal((await verify(checkedBefore)).statusCode, 200)
  const other = new Database(file)
  other.exec('ALTER TABLE tokens RENAME TO elsewhere')
  const answer = await verify(accessToken)
  refused(t, answer, 503, 'temporarily_unavailable', /try again/)
  t.match(answer.headers, { 'retry-after': /^\d+$/, 'www-authenticate': undefined })
  other.exec('ALTER TABLE elsewhere RENAME TO tokens; ALTER TABLE changes RENAME TO elsewhere')
  await nextTurn()
  t.equal((await verify(checkedBefore)).statusCode, 503, 'what is cached is not used without a look')
  other.close()
})

t.test('Gateways: a check writes nothing', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { verify, introspect, token } = await createWorldOfSuites(t, { databaseUrl: `sqlite:${file}` })
  const accessToken = await token()
  const other = new Database(file)
  t.teardown(() => other.close())
  const version = other.pragma('data_version')
  t.equal((await verify(accessToken)).statusCode, 200)
  t.equal((await introspect(accessToken)).statusCode, 200)
  t.strictSame(other.pragma('data_version'), version)
  other.exec('BEGIN EXCLUSIVE')
  t.equal((await verify(accessToken)).statusCode, 200, 'and waits for no writer')
})

t.test('RFC 6750 §3.1: a header without a token, as clients send it that got none, is no token: 401', async (t) => {
  const { app } = await createWorldOfSuites(t)
  for (const authorization of ['Bearer', 'Bearer ', 'bearer   ']) {
    const answer = await app.inject({ url: '/v1/oauth/verify/store', headers: { authorization } })
    t.equal(answer.statusCode, 401, JSON.stringify(authorization))
    t.equal(answer.headers['www-authenticate'], REALM)
    t.equal(answer.body, '')
  }
})
