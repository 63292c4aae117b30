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
    const found = [status, challenge, Object.keys(json)]
    t.strictSame(found, [200, undefined, Object.keys(inBody.json)], headers[0] as string)
  }
  const issued = logged().filter(({ msg }) => msg === 'token issued')
  const by = issued.map(({ authentication }) => authentication)
  t.strictSame(by, [undefined, ...cases.map(() => 'basic')])
})

t.test('RFC 6749 §5.2: only a 401 for credentials in the header has the challenge', async (t) => {
  const { send, id, secret, right, administration } = await createBasicWorld(t)
  const none = 'A client must authenticate'
  const wrong = 'Unknown client or wrong secret'
  const malformed = 'The Authorization header is malformed'
  const twice = 'Credentials are given in two ways'
  type Case = [form: Record<string, string>, headers: string[], status: number, description: string]
  const inHeader = (header: string, status: number, description: string): Case => [GRANT, [header], status, description]
  const noHeaders = ['', 'Basic', 'Basic !', `Bearer ${secret}`, 'Basic YTpi YTpi', 'Basic YTpi,', `${right}, ${right}`]
  const noPairs = ['', id, '%zz:a', `${id}:%`, `${id}:%ff`, ':', `${id}:`, `:${secret}`]
  const others = [`nobody:${secret}`, `${id}:x`, `${id} :${secret}`, `${'x'.repeat(201)}:${secret}`, `store:${secret}`]
  const bytes = [basic('é:a'), basic('a:\xf6', 'latin1'), basic('a:\0')]
  const cases: Case[] = [
    ...[...noHeaders, ...noPairs.map((pair) => basic(pair))].map((header) => inHeader(header, 401, none)),
    ...others.map((pair) => inHeader(basic(pair), 401, wrong)),
    ...['Basic YTpiY', 'Basic YTpiYw', 'Basic YTpiYx==', ...bytes].map((header) => inHeader(header, 400, malformed)),
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
    const challenge = headers.length > 0 && status === 401 ? CHALLENGE : undefined
    t.strictSame([answer.status, answer.challenge], [status, challenge], what)
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
    const endpoints = ['token', 'revocation', 'introspection']
    const methods = endpoints.map((name) => metadata[`${name}_endpoint_auth_methods_supported`])
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
