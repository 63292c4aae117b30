import fc from 'fast-check'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { listenAndServe } from '../../src/server/listen.ts'
import { formHead, listening } from '../support/listening.ts'
import { createWorldOfSuites } from '../support/world.ts'

// CLIENT_AUTHENTICATION=body,basic. What the default refuses is in access-token.test.ts.

const [TOKEN, REVOKE] = ['/v1/oauth/accesstoken', '/v1/oauth/revoke']
const CHALLENGE = 'Basic realm="applications", charset="UTF-8"'
const GRANT = { grant_type: 'client_credentials' }

const basic = (pair: string, encoding: BufferEncoding = 'utf8') =>
  `Basic ${Buffer.from(pair, encoding).toString('base64')}`

/** A world that accepts HTTP Basic, and a function that sends a form with these Authorization headers as raw bytes. */
async function createBasicWorld(t: Test, options: Parameters<typeof createWorldOfSuites>[1] = {}) {
  const world = await createWorldOfSuites(t, { acceptsBasic: true, ...options })
  const { exchange } = await listening(t, world.app)

  async function send(form: Record<string, string> | string, authorizations: string[] = [], path = TOKEN) {
    const body = typeof form === 'string' ? form : String(new URLSearchParams(form))
    const headers = authorizations.map((value) => `Authorization: ${value}`)
    const head = formHead(path, 'Connection: close', `Content-Length: ${body.length}`, ...headers)
    const answer = await exchange(`${head}\r\n${body}`)
    const [, status, challenge] = /^HTTP\/1\.1 (\d+)(?:.*?\r\nwww-authenticate: ([^\r]*))?/is.exec(answer) ?? []
    const text = answer.slice(answer.indexOf('\r\n\r\n') + 4)
    return { status: Number(status), challenge, json: text === '' ? {} : JSON.parse(text) }
  }
  const { client_id: id, client_secret: secret } = world.credentials
  return { ...world, send, id, secret, right: basic(`${id}:${secret}`) }
}

t.test('CLIENT_AUTHENTICATION: the server accepts HTTP Basic only if the setting says so', async (t) => {
  const { store, credentials } = await createWorldOfSuites(t)
  const telemetry = { observe: () => {}, observeDetails: undefined, measure: undefined }
  const authorization = basic(`${credentials.client_id}:${credentials.client_secret}`)
  for (const [env, status] of [
    [{}, 400],
    [{ CLIENT_AUTHENTICATION: 'body' }, 400],
    [{ CLIENT_AUTHENTICATION: 'body,basic' }, 200],
  ] as const) {
    const { app, address } = await listenAndServe(store, telemetry, readConfig({ PORT: '0', ...env }))
    t.teardown(() => app.close())
    const request = { method: 'POST', headers: { authorization }, body: new URLSearchParams(GRANT) }
    t.equal((await fetch(`${address}${TOKEN}`, request)).status, status, JSON.stringify(env))
  }
})

t.test('RFC 6749 §2.3.1: an application gets the same token by HTTP Basic, form-encoded or not', async (t) => {
  const { send, id, secret, right, administration, logged } = await createBasicWorld(t)
  const everyByte = (text: string) => [...Buffer.from(text)].map((byte) => `%${byte.toString(16)}`).join('')
  const [odd, oddSecret] = ['a:b%c+d', 'p:w %2B&~+']
  await administration.register({ clientId: odd, clientSecret: oddSecret })
  const form = (text: string) => encodeURIComponent(text).replaceAll('%20', '+')
  const inBody = await send({ ...GRANT, client_id: id, client_secret: secret })
  const cases: [headers: string[], form?: Record<string, string>][] = [
    [[right]],
    [[right.replace('Basic', 'bASIC  ')]],
    [[basic(`${everyByte(id)}:${everyByte(secret)}`)]],
    [[right], { client_id: id }],
    [[right], { scope: '' }],
    [[basic(`${form(odd)}:${form(oddSecret)}`)]],
    [[basic(`${everyByte(odd)}:${everyByte(oddSecret)}`)]],
  ]
  for (const [headers, fields] of cases) {
    const { status, json, challenge } = await send({ ...GRANT, ...fields }, headers)
    t.strictSame(
      [status, challenge, Object.keys(json)],
      [200, undefined, Object.keys(inBody.json)],
      headers[0] as string,
    )
  }
  const issued = logged().filter(({ msg }) => msg === 'token issued')
  t.strictSame(
    issued.map(({ authentication }) => authentication),
    [undefined, ...cases.map(() => 'basic')],
  )
})

t.test('RFC 6749 §5.2: only a 401 for credentials in the header has the challenge', async (t) => {
  const { send, id, secret, right, administration } = await createBasicWorld(t)
  const none = 'A client must authenticate'
  const wrong = 'Unknown client or wrong secret'
  const malformed = 'The Authorization header is malformed'
  const twice = 'Credentials are given both in the body and in the Authorization header'
  type Case = [form: Record<string, string>, headers: string[], status: number, description: string]
  const inHeader = (header: string, status: number, description: string): Case => [GRANT, [header], status, description]
  const cases: Case[] = [
    ...['', 'Basic', 'Basic !', `Bearer ${secret}`, 'Basic YTpi YTpi', 'Basic YTpi,', `${right}, ${right}`].map(
      (header) => inHeader(header, 401, none),
    ),
    ...['', id, '%zz:a', `${id}:%`, `${id}:%ff`, ':', `${id}:`, `:${secret}`].map((pair) =>
      inHeader(basic(pair), 401, none),
    ),
    ...[`nobody:${secret}`, `${id}:x`, `${id} :${secret}`, `${'x'.repeat(201)}:${secret}`, `store:${secret}`].map(
      (pair) => inHeader(basic(pair), 401, wrong),
    ),
    ...['Basic YTpiY', 'Basic YTpiYw', 'Basic YTpiYx==', basic('é:a'), basic('a:\xf6', 'latin1'), basic('a:\0')].map(
      (header) => inHeader(header, 400, malformed),
    ),
    [GRANT, [right, right], 400, 'The Authorization header is given more than once'],
    [{ ...GRANT, client_secret: secret }, [right], 400, twice],
    [{ ...GRANT, client_secret: '' }, [right], 400, twice],
    [{ ...GRANT, client_id: id, client_secret: secret }, ['Bearer x'], 400, twice],
    [{ ...GRANT, client_id: 'nobody' }, [right], 400, twice],
    [{ ...GRANT, client_id: '' }, [right], 400, twice],
    [{}, [right], 400, 'The field grant_type is missing'],
    [{ grant_type: 'password' }, [right], 400, 'The grant_type must be client_credentials'],
    [GRANT, [], 400, 'The field client_id is missing'],
    [{ ...GRANT, client_id: id }, [], 400, 'The field client_secret is missing'],
    [{ ...GRANT, client_id: id, client_secret: 'x' }, [], 401, wrong],
  ]
  for (const [form, headers, status, description] of cases) {
    const error = { 400: 'invalid_request', 401: 'invalid_client' }[status]
    const answer = await send(form, headers)
    const expected = form.grant_type === 'password' ? 'unsupported_grant_type' : error
    const what = `${JSON.stringify(form)} ${headers}`
    t.strictSame(answer.json, { error: expected, error_description: description }, what)
    t.strictSame(
      [answer.status, answer.challenge],
      [status, headers.length > 0 && status === 401 ? CHALLENGE : undefined],
      what,
    )
  }
  await administration.suspend(id)
  t.match(await send(GRANT, [right]), { status: 401, challenge: CHALLENGE, json: { error_description: wrong } })
})

t.test('RFC 7009 §2.1: an application revokes its token by HTTP Basic', async (t) => {
  const { send, right, token, verify } = await createBasicWorld(t)
  const accessToken = await token()
  t.match(await send({ token: accessToken }, [basic('a:b')], REVOKE), { status: 401, challenge: CHALLENGE })
  t.equal((await verify(accessToken)).statusCode, 200)
  t.equal((await send({ token: accessToken }, [right], REVOKE)).status, 200)
  t.equal((await verify(accessToken)).statusCode, 401)
})

t.test('RFC 8414 §2: the metadata has the methods that the setting allows', async (t) => {
  const [basic, post] = ['client_secret_basic', 'client_secret_post']
  for (const acceptsBasic of [true, false]) {
    const { app } = await createWorldOfSuites(t, { acceptsBasic })
    const metadata = (await app.inject('/.well-known/oauth-authorization-server')).json()
    const methods = ['token', 'revocation', 'introspection'].map(
      (name) => metadata[`${name}_endpoint_auth_methods_supported`],
    )
    const ofApplications = acceptsBasic ? [basic, post] : [post]
    t.strictSame(methods, [ofApplications, ofApplications, [basic, post]])
  }
})

t.test('Failures: wrong secrets in the header and in the body have one budget', async (t) => {
  const { send, id, right } = await createBasicWorld(t)
  const wrongs = [() => send(GRANT, [basic(`${id}:x`)]), () => send({ ...GRANT, client_id: id, client_secret: 'x' })]
  const statuses: number[] = []
  for (let n = 0; n < 12; n++) statuses.push((await (wrongs[n % 2] as () => ReturnType<typeof send>)()).status)
  t.strictSame(statuses, [...Array(10).fill(401), 429, 429])
  t.equal((await send(GRANT, [right])).status, 200)
})

t.test('Authorization headers: any text is refused with 400 or 401, and never a server error', async (t) => {
  const { app, lines } = await createWorldOfSuites(t, { acceptsBasic: true, failureLimit: false })
  const character = fc.integer({ min: 0x20, max: 0xff }).filter((code) => code !== 0x7f)
  const text = fc.array(character, { maxLength: 60 }).map((codes) => String.fromCharCode(...codes))
  const bytes = fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array).toString('base64'))
  const pair = fc.string({ unit: fc.constantFrom(...':%+=a0é\0', '%c3', '%zz', '%00') }).map((text) => basic(text))
  const header = fc.oneof(
    text,
    bytes.map((base64) => `Basic ${base64}`),
    text.map((text) => `Basic ${text}`),
    pair,
  )
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const payload = String(new URLSearchParams({ ...GRANT, token: 'x' }))
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(TOKEN, REVOKE), header, async (url, authorization) => {
      const answer = await app.inject({ method: 'POST', url, headers: { ...headers, authorization }, payload })
      const { statusCode } = answer
      return statusCode === 401 ? answer.headers['www-authenticate'] === CHALLENGE : statusCode === 400
    }),
    { numRuns: 600 },
  )
  t.notMatch(lines.join(''), /request failed/)
})
