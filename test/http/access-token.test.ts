import type { InjectOptions } from 'fastify'
import t from 'tap'
import { listening, statuses, tokenRequest } from '../support/listening.ts'
import { refused } from '../support/refused.ts'
import { createWorld, createWorldWithFile, START } from '../support/world.ts'

// What docs/openapi.yaml describes is in openapi/answers.slow.test.ts: every field of an answer, and one request for each refusal.

const PATH = '/v1/oauth/accesstoken'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

t.test('A clock before 1970: no token is issued, and the log says why', async (t) => {
  const { post, clock, logged } = await createWorld(t, { tokenQuota: 1 })
  clock.time = -1
  t.match(await post(), { statusCode: 503, headers: { 'retry-after': '5' } })
  t.match(logged(), [{ reason: 'store unavailable', err: { message: /^this machine's clock is before 1970/ } }])
  clock.time = 0
  t.equal((await post()).statusCode, 200)
})

t.test('Token requests: every variation that the contract allows gets a token, with the name in UTF-8', async (t) => {
  const { post, credentials } = await createWorld(t)
  const everyByte = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('')
  const fields = Object.entries(credentials)
  const bodyOf = (encode: (text: string) => string) => fields.map((field) => field.map(encode).join('=')).join('&')
  const body = bodyOf(String)
  const cases: [what: string, form: Record<string, string> | string, type?: string][] = [
    ['The contract: a body that was put together by hand', body],
    ['The contract: a body that encodes everything', bodyOf(everyByte)],
    ['RFC 6749 §3.2: unknown fields', { ...credentials, audience: 'x', __proto__: 'y' }],
    ['The contract: a scope, which is ignored', { ...credentials, scope: 'everything' }],
    ['RFC 9110 §15.5.14: a body of 8 KiB', `${body}&padding=`.padEnd(8192, 'x')],
    ['RFC 9110 §8.3.1: a type with parameters', body, 'application/x-www-form-urlencoded; charset=utf-8'],
    ['RFC 9110 §8.3.1: a type in any case', body, 'Application/X-WWW-Form-Urlencoded;charset=UTF-8'],
  ]
  for (const [what, form, type] of cases) {
    const answer = await post(form, type === undefined ? {} : { 'content-type': type })
    const { scope, application_name } = answer.json()
    t.strictSame([answer.statusCode, scope, application_name], [200, '', 'Störe ✓'], what)
    t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  }
})

t.test('Contract rule 9: the answer has exactly the eight fields, in their order', async (t) => {
  const { post, credentials } = await createWorld(t)
  const { body } = await post()
  const { access_token } = JSON.parse(body)
  const fields = [
    `"access_token":"${access_token}"`,
    '"token_type":"bearer"',
    '"expires_in":3599',
    '"scope":""',
    '"application_name":"Störe ✓"',
    '"developer.email":"developer@partner.example"',
    `"issued_at":"${START}"`,
    `"client_id":"${credentials.client_id}"`,
  ]
  t.equal(body, `{${fields.join()}}`)
})

t.test('Token requests: each mistake is refused, and the answer names it', async (t) => {
  const { app, post, credentials } = await createWorld(t)
  const ask = (options: InjectOptions) => app.inject({ method: 'POST', url: PATH, ...options })
  const body = String(new URLSearchParams(credentials))
  const json = { payload: '{', headers: { 'content-type': 'application/json' } }
  const withHeader = (authorization: string) => () => post(undefined, { authorization })
  const NONE = /leave out the Authorization header$/
  const NOT_HERE = /^The method is not allowed here: use POST$/
  type Case = [what: string, () => ReturnType<typeof post>, description: RegExp, status?: number]
  const cases: Case[] = [
    ...['text/plain', 'application/x-www-form-urlencodedx', 'multipart/form-data; boundary=a'].map(
      (type): Case => [`The contract: ${type}`, () => post('{"a":1}', { 'content-type': type }), /Content-Type/],
    ),
    ['The contract: no content type', () => ask({ payload: body }), /Content-Type/],
    [
      'Contract rules 4 and 8: credentials in the query',
      () => ask({ url: `${PATH}?${body}`, payload: '', headers: FORM }),
      /must have no query$/,
    ],
    [
      'Contract rule 4: a query beside the credentials',
      () => ask({ url: `${PATH}?a=b`, payload: body, headers: FORM }),
      /must have no query$/,
    ],
    ...['Bearer x', ''].map((header): Case => [`The contract: Authorization: ${header}`, withHeader(header), NONE]),
    ...(['grant_type', 'client_id', 'client_secret'] as const).flatMap((field): Case[] => {
      const { [field]: value, ...others } = credentials
      return [
        [`RFC 6749 §3.2: no ${field}`, () => post(others as Record<string, string>), RegExp(`${field} is missing`)],
        [`RFC 6749 §3.2: no value`, () => post({ ...credentials, [field]: '' }), RegExp(`${field} is empty`)],
        [`RFC 6749 §3.2: two of one`, () => post(`${body}&${field}=${value}`), RegExp(`${field} is given more than`)],
      ]
    }),
    ['RFC 6749 §3.2: no body', () => ask({ headers: FORM }), /./],
    ['RFC 6749 §3.2: no field', () => post('&&&'), /grant_type is missing/],
    ['RFC 6749 §3.2: an unknown field twice', () => post(`${body}&b=1&b=2`), /b is given more than once/],
    ['RFC 6749 §5.2: characters', () => post(`${body}&a/b~"\\\u00e9=1&a/b~"\\\u00e9=2`), /field a\/b~\?+ is given/],
    ['RFC 9110 §15.5.14: a body over 8 KiB', () => post(`${body}&padding=`.padEnd(8193, 'x')), /large/, 413],
    ...['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map(
      (method): Case => [`RFC 9110 §15.5.6: ${method}`, () => ask({ method: method as 'GET', ...json }), NOT_HERE, 405],
    ),
    ['RFC 6749 §5.2: an unknown path', () => ask({ url: '/nowhere', payload: {} }), /tokens are at POST/, 404],
    ...[`${PATH}/`, '/:x(', '/**', '/:(a', '/health/*', '/__proto__', '/v1/oauth'].map(
      (url): Case => [`an unknown path: ${url}`, () => app.inject(url), /endpoint/, 404],
    ),
    ['RFC 6749 §5.2: a malformed path', () => app.inject('/%zz'), /malformed/],
  ]
  for (const [what, send, description, status = 400] of cases) {
    await t.test(what, async (t) => refused(t, await send(), status, 'invalid_request', description))
  }
})

t.test('RFC 6749 §5.2: the answer is the same for every invalid application or secret', async (t) => {
  const { post, credentials, administration, clock, logged } = await createWorld(t)
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

  refused(t, unknown, 401, 'invalid_client', /./)
  t.equal(unknown.headers['www-authenticate'], undefined)
  for (const answer of [wrong, suspended, expired, revoked]) {
    t.strictSame([answer.statusCode, answer.body], [401, unknown.body])
    t.strictSame(Object.keys(answer.headers), Object.keys(unknown.headers))
  }
  const refusals = logged().filter(({ msg }) => msg === 'authentication refused')
  t.match(refusals[0], { reason: 'unknown client', client_id: 'nobo... (19 characters)' })
  const known = ['wrong secret', 'suspended application', 'expired secret', 'revoked secret']
  const expected = known.map((reason) => ({ reason, client_id: credentials.client_id }))
  t.match(refusals.slice(1), expected)
})

t.test('RFC 6749 §2.3.1: a client id that is too long is refused like any unknown one', async (t) => {
  const { post, store, credentials } = await createWorld(t)
  const asked = t.capture(store, 'findApplication', store.findApplication)
  const ids = ['x'.repeat(200), 'x'.repeat(201)]
  const [unknown, long] = await Promise.all(ids.map((client_id) => post({ ...credentials, client_id })))
  t.strictSame([long?.statusCode, long?.body], [unknown?.statusCode, unknown?.body])
  const names = asked().map(({ args }) => args[0])
  t.strictSame(names, ids.slice(0, 1), 'it is not looked for')
})

t.test('RFC 9112 §3.2.2: requests that only raw bytes can express are read correctly', async (t) => {
  const { app, credentials } = await createWorld(t)
  const { exchange } = await listening(t, app)
  const request = tokenRequest(credentials, 'Connection: close')
  const to = (target: string, method = 'POST') => request.replace(`POST ${PATH}`, `${method} ${target}`)
  const cases: [what: string, bytes: string, status: number, answer: RegExp][] = [
    ['a whole address as the target', to(`http://token.example${PATH}`), 200, /access_token/],
    ['a whole address with an empty query', to(`http://token.example${PATH}?`), 400, /query/],
    ['another method at a whole address', to(`http://token.example${PATH}`, 'PUT'), 405, /^allow: POST\r$/im],
    ['another method at an encoded path', to('/v1/oauth/%61ccesstoken', 'PUT'), 405, /^allow: POST\r$/im],
    ['an expectation that nobody knows', tokenRequest(credentials, 'Connection: close', 'Expect: x'), 200, /token/],
  ]
  for (const [what, bytes, status, expected] of cases) {
    const answer = await exchange(bytes)
    t.strictSame(statuses(answer), [status], what)
    t.match(answer, expected, what)
  }
})

t.test('RFC 9110 §15.6: a failure of the store is a 503, an unexpected error a 500 without details', async (t) => {
  const { post, credentials, store, lines, other } = await createWorldWithFile(t, { lockTimeout: 0 })
  other.exec('BEGIN IMMEDIATE')
  refused(t, await post(), 503, 'temporarily_unavailable', /try again/)
  t.match(lines.at(-1), /"level":50.*SQLITE_BUSY/)
  other.exec('COMMIT')
  t.equal((await post()).statusCode, 200, 'and it recovers')

  other.exec('DROP TABLE secrets')
  for (const form of [credentials, { ...credentials, client_secret: 'wrong' }]) {
    refused(t, await post(form), 503, 'temporarily_unavailable', /try again/)
  }
  await store.close()
  refused(t, await post(), 500, 'server_error', /^The server failed$/)
  t.match(lines.at(-1), /"level":50.*database connection is not open.*stack/, 'the log has all of it')
})
