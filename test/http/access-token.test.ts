import { unlinkSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { InjectOptions } from 'fastify'
import t, { type Test } from 'tap'
import { formHead, LIVE, listening, statuses, tokenRequest } from '../support/listening.ts'
import { refused } from '../support/refused.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorld, START } from '../support/world.ts'

const PATH = '/v1/oauth/accesstoken'
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/** A world with its store in a file, and another connection to it. */
async function createWorldWithFile(t: Test, lockTimeout: number) {
  const file = join(temporaryFolder(t), 'store.db')
  const world = await createWorld(t, { databaseUrl: `sqlite:${file}`, lockTimeout })
  const other = new Database(file)
  t.teardown(() => other.close())
  return { ...world, file, other }
}

t.test('The contract: a valid request is answered with the eight fields in their order and types', async (t) => {
  const { post, credentials } = await createWorld(t)
  const answer = await post()
  t.equal(answer.statusCode, 200)
  t.equal(answer.headers['content-type'], 'application/json; charset=utf-8')
  t.match(answer.headers, { 'cache-control': 'no-store', pragma: 'no-cache' }, 'RFC 6749 §5.1')
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

t.test('Token requests: what a client may send as it likes gets a token', async (t) => {
  const { post, credentials } = await createWorld(t)
  const fields = Object.entries(credentials)
  const everyByte = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('')
  const body = String(new URLSearchParams(credentials))
  const cases: [what: string, form: Record<string, string> | string, type?: string][] = [
    ['The contract: a body that was put together by hand', fields.map(([name, value]) => `${name}=${value}`).join('&')],
    [
      'The contract: a body that encodes everything',
      fields.map(([name, value]) => `${everyByte(name)}=${everyByte(value)}`).join('&'),
    ],
    ['RFC 6749 §3.2: unknown fields', { ...credentials, audience: 'x', __proto__: 'y' }],
    ['The contract: a scope, which is ignored', { ...credentials, scope: 'everything' }],
    ['RFC 9110 §15.5.14: a body of 8 KiB', `${body}&padding=`.padEnd(8192, 'x')],
    ['RFC 9110 §8.3.1: a type with parameters', body, 'application/x-www-form-urlencoded; charset=utf-8'],
    ['RFC 9110 §8.3.1: a type in any case', body, 'Application/X-WWW-Form-Urlencoded;charset=UTF-8'],
  ]
  for (const [what, form, type] of cases) {
    const answer = await post(form, type === undefined ? {} : { 'content-type': type })
    t.strictSame([answer.statusCode, answer.json().scope], [200, ''], what)
  }
})

t.test('Token requests: what is wrong is refused, and the answer says what it is', async (t) => {
  const { app, post, credentials } = await createWorld(t)
  const ask = (options: InjectOptions) => app.inject({ method: 'POST', url: PATH, ...options })
  const typed = (type: string) => post('{"a":1}', { 'content-type': type })
  const body = String(new URLSearchParams(credentials))
  const cases: [what: string, () => ReturnType<typeof post>, description: RegExp, status?: number, error?: string][] = [
    ['The contract: a query', () => post(undefined, {}, `${PATH}?a=b`), /query/],
    ...['application/json', 'text/plain', 'application/x-www-form-urlencodedx', 'multipart/form-data; boundary=a'].map(
      (type): (typeof cases)[number] => [`The contract: ${type}`, () => typed(type), /Content-Type/],
    ),
    ['The contract: no content type', () => ask({ payload: body }), /Content-Type/],
    ...['Basic eDp5', 'Bearer x', ''].map((authorization): (typeof cases)[number] => [
      `The contract: an Authorization header: ${authorization}`,
      () => post(undefined, { authorization }),
      /^Credentials belong in the body: leave out the Authorization header$/,
    ]),
    ...(['grant_type', 'client_id', 'client_secret'] as const).flatMap((field): typeof cases => {
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
    [
      'RFC 6749 §5.2: another grant type',
      () => post({ ...credentials, grant_type: 'password' }),
      /client_credentials/,
      400,
      'unsupported_grant_type',
    ],
    ['RFC 9110 §15.5.14: a body over 8 KiB', () => post(`${body}&padding=`.padEnd(8193, 'x')), /large/, 413],
    ['RFC 6749 §5.2: an unknown path', () => ask({ url: '/nowhere', payload: {} }), /tokens are at POST/, 404],
    ...[`${PATH}/`, '/:x(', '/**', '/:(a', '/health/*', '/__proto__', '/v1/oauth'].map(
      (url): (typeof cases)[number] => [`an unknown path: ${url}`, () => app.inject(url), /endpoint/, 404],
    ),
    ['RFC 6749 §5.2: a malformed path', () => app.inject('/%zz'), /malformed/, 400],
  ]
  for (const [what, send, description, status = 400, error = 'invalid_request'] of cases) {
    await t.test(what, async (t) => refused(t, await send(), status, error, description))
  }
})

t.test('RFC 9110 §15.5.6: another method is refused, with those that are allowed', async (t) => {
  const { app } = await createWorld(t)
  const headers = { 'content-type': 'application/json' }
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const) {
    const answer = await app.inject({ method, url: PATH, payload: '{', headers })
    refused(t, answer, 405, 'invalid_request', /^The method is not allowed here: use POST$/)
    t.equal(answer.headers.allow, 'POST')
  }
  const answer = await app.inject({ method: 'PUT', url: '/health/live' })
  t.match(answer.json().error_description, /: use GET or HEAD$/)
  t.equal(answer.headers.allow, 'GET, HEAD')
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

    refused(t, unknown, 401, 'invalid_client', /./)
    t.equal(unknown.headers['www-authenticate'], undefined)
    for (const answer of [wrong, suspended, expired, revoked]) {
      t.strictSame([answer.statusCode, answer.body], [401, unknown.body])
      t.strictSame(Object.keys(answer.headers), Object.keys(unknown.headers))
    }
    const said = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'authentication refused')
    t.strictSame(
      said.map(({ reason, client_id }) => [reason, client_id]),
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

t.test('RFC 6749 §2.3.1: a client id that is too long to be one is refused like any unknown one', async (t) => {
  const { post, store, credentials } = await createWorld(t)
  const asked = t.capture(store, 'findApplication', store.findApplication)
  const [unknown, long] = [
    await post({ ...credentials, client_id: 'x'.repeat(200) }),
    await post({ ...credentials, client_id: 'x'.repeat(201) }),
  ]
  t.strictSame([long.statusCode, long.body], [unknown.statusCode, unknown.body])
  t.strictSame(
    asked().map(({ args }) => args[0]),
    ['x'.repeat(200)],
    'it is not looked for',
  )
})

t.test('RFC 9112 §3.2.2: what only bytes can say is read as it should be', async (t) => {
  const { app, credentials } = await createWorld(t)
  const { exchange } = await listening(t, app)
  const request = tokenRequest(credentials, 'Connection: close')
  const to = (target: string, method = 'POST') => request.replace(`POST ${PATH}`, `${method} ${target}`)
  const cases: [what: string, bytes: string, status: number, answer: RegExp][] = [
    ['a whole address as the target', to(`http://token.example${PATH}`), 200, /access_token/],
    ['a whole address with an empty query', to(`http://token.example${PATH}?`), 400, /query/],
    ['The contract: an empty query is a query', to(`${PATH}?`), 400, /query/],
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

t.test('RFC 9110 §15.5: a client that hangs up in the middle of a body is no failure of the server', async (t) => {
  const { app, lines } = await createWorld(t)
  const { dialed, exchange } = await listening(t, app)
  const { socket } = await dialed()
  socket.write(`${formHead()}Content-Length: 100\r\n\r\ngrant_type=`)
  socket.destroy()
  await until(() => lines.length > 0)
  t.match(JSON.parse(lines[0] as string), { msg: 'request refused', status: 400 })
  t.match(await exchange(LIVE.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')), / 200 OK/)
})

t.test('RFC 9110 §15.6.4: where the store cannot commit there is no token but a 503', async (t) => {
  const { post, credentials, lines, other, file } = await createWorldWithFile(t, 0)
  other.exec('BEGIN IMMEDIATE')
  const locked = await post()
  refused(t, locked, 503, 'temporarily_unavailable', /try again/)
  t.match(locked.headers['retry-after'], /^\d+$/)
  t.match(lines.at(-1), /"level":50.*SQLITE_BUSY/)
  other.exec('COMMIT')
  t.equal((await post()).statusCode, 200, 'and it recovers')

  unlinkSync(file)
  refused(t, await post(), 503, 'temporarily_unavailable', /try again/)
  const wrong = { ...credentials, client_secret: 'wrong' }
  refused(t, await post(wrong), 503, 'temporarily_unavailable', /try again/)
})

t.test('RFC 9110 §15.6.4: a short lock of the store is waited for', async (t) => {
  const { post, other } = await createWorldWithFile(t, 30_000)
  other.exec('BEGIN IMMEDIATE')
  const answer = post()
  for (let n = 0; n < 10; n++) await nextTurn()
  other.exec('COMMIT')
  t.equal((await answer).statusCode, 200)
})

t.test('RFC 9110 §15.6.4: where the store cannot be read the answer is 503 and not 401', async (t) => {
  const { post, other } = await createWorldWithFile(t, 0)
  other.exec('DROP TABLE secrets')
  refused(t, await post(), 503, 'temporarily_unavailable', /try again/)
})

t.test('RFC 6749 §5.2: what nobody foresaw is a 500 that tells nothing, and the log has it whole', async (t) => {
  const { post, store, lines } = await createWorld(t)
  await store.close()
  refused(t, await post(), 500, 'server_error', /^The server failed$/)
  t.match(lines.at(-1), /"level":50.*database connection is not open.*stack/)
})
