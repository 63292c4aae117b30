import { once } from 'node:events'
import { unlinkSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import Database from 'better-sqlite3'
import t from 'tap'
import { refused } from '../support/refused.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, START } from '../support/world.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

t.test('The contract: a valid request is answered with the eight fields in their order and types', async (t) => {
  const { post, credentials } = await createWorld(t)
  const answer = await post()
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  t.strictSame(Object.entries(answer.json()).slice(1), [
    ['token_type', 'bearer'],
    ['expires_in', 3599],
    ['scope', ''],
    ['application_name', 'Störe ✓'],
    ['developer.email', 'developer@partner.example'],
    ['issued_at', String(START)],
    ['client_id', credentials.client_id],
  ])
  t.equal(Object.keys(answer.json())[0], 'access_token')
  t.match(answer.json().access_token, /^[A-Za-z0-9_-]{64}$/)
})

t.test('RFC 6749 §5.1: an answer with a token is not stored by any cache', async (t) => {
  const { post } = await createWorld(t)
  t.match((await post()).headers, { 'cache-control': 'no-store', pragma: 'no-cache' })
})

t.test('The contract: a body that was put together by hand and one that encodes everything both work', async (t) => {
  const { post, credentials } = await createWorld(t)
  const byHand = Object.entries(credentials).map(([name, value]) => `${name}=${value}`)
  t.equal((await post(byHand.join('&'))).statusCode, 200)
  const everyByte = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('')
  const encoded = Object.entries(credentials).map(([name, value]) => `${everyByte(name)}=${everyByte(value)}`)
  t.equal((await post(encoded.join('&'))).statusCode, 200)
})

t.test('The contract: a request with a query is refused, an empty query too', async (t) => {
  const { post } = await createWorld(t)
  refused(t, await post(undefined, {}, '/v1/oauth/accesstoken?a=b'), 400, 'invalid_request', /query/)
})

t.test('The contract: an empty query is a query', async (t) => {
  const { app, credentials } = await createWorld(t)
  const address = new URL(await app.listen({ port: 0 }))
  // Only node:http leaves the lone question mark where it is.
  const request = http.request({ port: address.port, path: '/v1/oauth/accesstoken?', method: 'POST', headers: FORM })
  request.end(new URLSearchParams(credentials).toString())
  const [response] = (await once(request, 'response')) as [http.IncomingMessage]
  t.equal(response.statusCode, 400)
  t.match(await json(response), { error: 'invalid_request', error_description: /query/ })
})

t.test('The contract: another content type, or none, is refused', async (t) => {
  const { app, post, credentials } = await createWorld(t)
  for (const type of [
    'application/json',
    'text/plain',
    'application/x-www-form-urlencodedx',
    'multipart/form-data; boundary=a',
  ]) {
    refused(t, await post('{"a":1}', { 'content-type': type }), 400, 'invalid_request', /Content-Type/)
  }
  const payload = new URLSearchParams(credentials).toString()
  const none = await app.inject({ method: 'POST', url: '/v1/oauth/accesstoken', payload })
  refused(t, none, 400, 'invalid_request', /Content-Type/)
})

t.test('RFC 9110 §8.3.1: a form is a form with parameters and in any case', async (t) => {
  const { post } = await createWorld(t)
  for (const type of [
    'application/x-www-form-urlencoded; charset=utf-8',
    'Application/X-WWW-Form-Urlencoded;charset=UTF-8',
  ]) {
    t.equal((await post(undefined, { 'content-type': type })).statusCode, 200)
  }
})

for (const field of ['grant_type', 'client_id', 'client_secret'] as const) {
  t.test(`RFC 6749 §3.2: a request without ${field}, with an empty one or with two is refused`, async (t) => {
    const { post, credentials } = await createWorld(t)
    const { [field]: value, ...others } = credentials
    refused(t, await post(others as Record<string, string>), 400, 'invalid_request', new RegExp(`${field} is missing`))
    refused(t, await post({ ...credentials, [field]: '' }), 400, 'invalid_request', new RegExp(`${field} is empty`))
    const doubled = `${new URLSearchParams(credentials)}&${field}=${value}`
    refused(t, await post(doubled), 400, 'invalid_request', new RegExp(`${field} is given more than once`))
  })
}

t.test('RFC 6749 §3.2: a request without any field is refused', async (t) => {
  const { app, post } = await createWorld(t)
  refused(
    t,
    await app.inject({ method: 'POST', url: '/v1/oauth/accesstoken', headers: FORM }),
    400,
    'invalid_request',
    /./,
  )
  refused(t, await post('&&&'), 400, 'invalid_request', /grant_type is missing/)
})

t.test('RFC 6749 §3.2: an unknown field is ignored, but not when it is given twice', async (t) => {
  const { post, credentials } = await createWorld(t)
  t.equal((await post({ ...credentials, audience: 'x', __proto__: 'y' })).statusCode, 200)
  const body = new URLSearchParams(credentials)
  refused(t, await post(`${body}&audience=1&audience=2`), 400, 'invalid_request', /audience is given more than once/)
  refused(t, await post(`${body}&a/b~"\\\u00e9=1&a/b~"\\\u00e9=2`), 400, 'invalid_request', /field a\/b~\?+ is given/)
})

t.test('The contract: a scope is ignored and the answer says that it is empty', async (t) => {
  const { post, credentials } = await createWorld(t)
  t.equal((await post({ ...credentials, scope: 'everything' })).json().scope, '')
})

t.test('RFC 6749 §5.2: another grant type is refused', async (t) => {
  const { post, credentials } = await createWorld(t)
  refused(
    t,
    await post({ ...credentials, grant_type: 'password' }),
    400,
    'unsupported_grant_type',
    /client_credentials/,
  )
})

t.test(
  'RFC 6749 §5.2: an unknown client, a wrong secret, a suspended application, an expired and a revoked secret get one answer',
  async (t) => {
    const { post, credentials, administration, clock, lines } = await createWorld(t)
    const unknown = await post({ ...credentials, client_id: 'nobody-of-that-name' })
    const wrong = await post({ ...credentials, client_secret: 'x' })
    await administration.suspend(credentials.client_id)
    const suspended = await post()
    await administration.resume(credentials.client_id)
    await administration.rotateSecret(credentials.client_id, 1000)
    t.equal((await post()).statusCode, 200)
    clock.time += 1000
    const expired = await post()
    const [first] = await administration.listSecrets(credentials.client_id)
    await administration.revokeSecret(credentials.client_id, first?.id as number)
    const revoked = await post()

    for (const answer of [unknown, wrong, suspended, expired, revoked]) {
      refused(t, answer, 401, 'invalid_client', /./)
      t.equal(answer.body, unknown.body)
      t.strictSame(Object.keys(answer.headers), Object.keys(unknown.headers))
    }
    t.equal(unknown.headers['www-authenticate'], undefined)
    t.strictSame(
      lines
        .map((line) => JSON.parse(line))
        .filter(({ msg }) => msg === 'authentication refused')
        .map(({ reason, client_id }) => [reason, client_id]),
      [
        ['unknown client', 'nobo... (19 characters)'],
        ['wrong secret', credentials.client_id],
        ['suspended application', credentials.client_id],
        ['expired secret', credentials.client_id],
        ['revoked secret', credentials.client_id],
      ],
    )
  },
)

t.test('The contract: credentials in an Authorization header are refused', async (t) => {
  const { post } = await createWorld(t)
  for (const authorization of ['Basic eDp5', 'Bearer x', '']) {
    refused(t, await post(undefined, { authorization }), 400, 'invalid_request', /Authorization/)
  }
})

t.test('RFC 9110 §15.5.6: another method is refused, with the one that is allowed', async (t) => {
  const { app } = await createWorld(t)
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
    const answer = await app.inject({
      method,
      url: '/v1/oauth/accesstoken',
      payload: '{',
      headers: { 'content-type': 'application/json' },
    })
    refused(t, answer, 405, 'invalid_request', /method/)
    t.equal(answer.headers.allow, 'POST')
  }
})

t.test('RFC 9110 §15.5.14: a body over 8 KiB is refused, one of 8 KiB is read', async (t) => {
  const { post, credentials } = await createWorld(t)
  const body = `${new URLSearchParams(credentials)}&padding=`
  t.equal((await post(body.padEnd(8192, 'x'))).statusCode, 200)
  refused(t, await post(body.padEnd(8193, 'x')), 413, 'invalid_request', /large/)
})

t.test('RFC 6749 §5.2: an unknown path and a malformed one are refused in the same shape', async (t) => {
  const { app } = await createWorld(t)
  refused(t, await app.inject({ method: 'POST', url: '/nowhere', payload: {} }), 404, 'invalid_request', /endpoint/)
  refused(t, await app.inject('/v1/oauth/accesstoken/'), 404, 'invalid_request', /endpoint/)
  refused(t, await app.inject('/%zz'), 400, 'invalid_request', /malformed/)
  for (const path of ['/:x(', '/**', '/:(a', '/health/*', '/__proto__']) {
    refused(t, await app.inject(path), 404, 'invalid_request', /endpoint/)
  }
})

t.test(
  'RFC 9112 §3.2.2: an address as the target is read, an expectation that nobody knows is passed over',
  async (t) => {
    const { app, credentials } = await createWorld(t)
    const { port } = new URL(await app.listen({ port: 0 }))
    const send = async (method: string, path: string, headers: Record<string, string> = {}) => {
      const request = http.request({ port, path, method, headers: { ...FORM, ...headers }, agent: false })
      request.end(new URLSearchParams(credentials).toString())
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      response.resume()
      return [response.statusCode, response.headers.allow]
    }
    const path = '/v1/oauth/accesstoken'
    t.strictSame(await send('POST', `http://token.example${path}`), [200, undefined])
    t.strictSame(await send('POST', `http://token.example${path}?`), [400, undefined])
    t.strictSame(await send('PUT', `http://token.example${path}`), [405, 'POST'])
    t.strictSame(await send('PUT', '/v1/oauth/%61ccesstoken'), [405, 'POST'])
    t.strictSame(await send('POST', path, { expect: 'miracles' }), [200, undefined])
  },
)

t.test('RFC 9110 §15.5: a client that hangs up in the middle of a body is no failure of the server', async (t) => {
  const { app, lines } = await createWorld(t)
  const { port } = new URL(await app.listen({ port: 0 }))
  const request = http.request({
    port,
    path: '/v1/oauth/accesstoken',
    method: 'POST',
    headers: { ...FORM, 'content-length': '100' },
  })
  request.on('error', () => {})
  request.write('grant_type=')
  await once(app.server, 'request')
  request.destroy()
  while (lines.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))
  t.match(JSON.parse(lines[0] as string), { msg: 'request refused', status: 400 })
})

t.test('RFC 9110 §15.6.4: where the store cannot commit there is no token but a 503', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { post, credentials, lines } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const other = new Database(file)
  t.teardown(() => other.close())

  other.exec('BEGIN IMMEDIATE')
  const locked = await post()
  refused(t, locked, 503, 'temporarily_unavailable', /try again/)
  t.match(locked.headers['retry-after'], /^\d+$/)
  t.match(lines.at(-1), /"level":50.*SQLITE_BUSY/)
  other.exec('COMMIT')
  t.equal((await post()).statusCode, 200, 'and it recovers')

  other.exec('BEGIN IMMEDIATE')
  setTimeout(() => other.exec('COMMIT'), 200)
  t.equal((await post()).statusCode, 200, 'a short lock is waited for')

  unlinkSync(file)
  refused(t, await post(), 503, 'temporarily_unavailable', /try again/)
  const wrong = { ...credentials, client_secret: 'wrong' }
  refused(t, await post(wrong), 503, 'temporarily_unavailable', /try again/)
})

t.test('RFC 9110 §15.6.4: where the store cannot be read the answer is 503 and not 401', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { post } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const other = new Database(file)
  other.exec('DROP TABLE secrets')
  other.close()
  refused(t, await post(), 503, 'temporarily_unavailable', /try again/)
})

t.test('RFC 6749 §5.2: what nobody foresaw is a 500 that tells nothing, and the log has it whole', async (t) => {
  const { post, store, lines } = await createWorld(t)
  await store.close()
  refused(t, await post(), 500, 'server_error', /^The server failed$/)
  t.match(lines.at(-1), /"level":50.*database connection is not open.*stack/)
})
