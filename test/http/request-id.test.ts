import { once } from 'node:events'
import type { LightMyRequestResponse } from 'fastify'
import t, { type Test } from 'tap'
import { newRequestId } from '../../src/domain/request-id.ts'
import { generateSecret } from '../../src/domain/secret.ts'
import { createMalformedAnswers } from '../../src/http/wire/refuse.ts'
import { traceIdOf } from '../../src/http/wire/request.ts'
import { formHead, listening } from '../support/listening.ts'
import { createWorldOfSuites } from '../support/world.ts'

const ID = '6f1f4a7e-0a52-4f2c-9a36-4c7f0c1d2e3f'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const PARENT = '00f067aa0ba902b7'
const TRACEPARENT = `00-${TRACE}-${PARENT}-01`
const NEW = /^[0-9a-f]{20}$/

/** A world, and requests for every kind of answer, with these headers. */
async function createAnsweringWorld(t: Test, headers: Record<string, string> = {}) {
  const world = await createWorldOfSuites(t, { tokenQuota: 3, logDetails: true, databaseUrl: 'sqlite::memory:' })
  const { app, credentials, post, token, store, basic } = world
  const accessToken = await token()
  const revoked = await token()
  world.lines.length = 0
  const check = (suite: string, bearer: string) =>
    app.inject({ url: `/v1/oauth/verify/${suite}`, headers: { ...headers, authorization: `Bearer ${bearer}` } })
  const introspect = (of: string) => post({ token: of }, { ...headers, authorization: basic }, '/v1/oauth/introspect')
  const revoke = () => post({ ...credentials, token: revoked }, headers, '/v1/oauth/revoke')
  const get = (url: string) => app.inject({ url, headers })
  /** Each with its status and its line in the log. */
  const requests: [status: number, line: string | undefined, () => Promise<LightMyRequestResponse>][] = [
    [200, 'token accepted', () => check('store', accessToken)],
    [200, 'token accepted', () => introspect(accessToken)],
    [200, 'token revoked', revoke],
    [200, 'nothing to revoke', revoke],
    [200, 'token refused', () => introspect(revoked)],
    [401, 'token refused', () => check('store', revoked)],
    [404, 'token refused', () => check('stroe', accessToken)],
    [400, 'request refused', () => check('store', 'a b')],
    [200, 'token issued', () => post(credentials, headers)],
    [429, undefined, () => post(credentials, headers)],
    [401, 'authentication refused', () => post({ ...credentials, client_secret: 'wrong' }, headers)],
    [400, 'request refused', () => post({}, headers)],
    [413, 'request refused', () => post('x'.repeat(9000), headers)],
    [404, 'request refused', () => get('/nowhere')],
    [400, 'request refused', () => get('/%zz')],
    [405, 'request refused', () => get('/v1/oauth/accesstoken')],
    [200, undefined, () => get('/health/live')],
    [200, undefined, () => get('/.well-known/oauth-authorization-server')],
    [500, 'request failed', () => store.close().then(() => check('store', accessToken))],
  ]
  return { requests, lines: world.lines }
}

/** The line of a request that was just answered. It may be written shortly after the answer. */
async function lineOf(lines: string[]): Promise<Record<string, unknown> | undefined> {
  await new Promise(setImmediate)
  const line = lines.splice(0).at(-1)
  return line === undefined ? undefined : JSON.parse(line)
}

t.test("Request ids: every answer and log line has one: the client's own if it sent one", async (t) => {
  for (const headers of [{}, { 'x-request-id': ID, traceparent: TRACEPARENT }]) {
    const { requests, lines } = await createAnsweringWorld(t, headers)
    const isOwn = 'x-request-id' in headers
    const ids = new Set<unknown>()
    for (const [status, msg, send] of requests) {
      const { statusCode, headers } = await send()
      const request_id = headers['x-request-id']
      ids.add(request_id)
      t.equal(statusCode, status)
      t.match(headers, { 'x-request-id': isOwn ? ID : NEW, traceparent: undefined }, `${status} ${msg}`)
      const line = msg && { msg, request_id, trace_id: isOwn ? TRACE : undefined }
      t.match(await lineOf(lines), line, `${status} ${msg}`)
    }
    t.equal(ids.size, isOwn ? 1 : requests.length, 'each has its own')
  }
})

t.test('Request ids: X-Correlation-Id is the id if there is no other, and is sent back', async (t) => {
  const { app } = await createWorldOfSuites(t)
  const cases: [sent: Record<string, string>, id: string | RegExp, correlationId: string | undefined][] = [
    [{ 'x-request-id': ID, 'x-correlation-id': 'kong#12' }, ID, 'kong#12'],
    [{ 'x-correlation-id': 'kong#12' }, 'kong#12', 'kong#12'],
    [{ 'x-request-id': 'a b', 'x-correlation-id': 'kong#12' }, 'kong#12', 'kong#12'],
    [{ 'x-correlation-id': 'a b' }, NEW, undefined],
  ]
  for (const [sent, id, correlationId] of cases) {
    const { headers } = await app.inject({ url: '/health/live', headers: sent })
    t.match(headers, { 'x-request-id': id, 'x-correlation-id': correlationId })
  }
})

t.test('Request ids: usual ones are kept; malformed ones, and possible secrets, are replaced', async (t) => {
  const { app, lines, token } = await createWorldOfSuites(t)
  const idOf = async (id: string | string[]) => {
    lines.length = 0
    const { headers } = await app.inject({ url: '/nowhere', headers: { 'x-request-id': id, 'x-correlation-id': id } })
    t.equal(JSON.parse(lines[0] as string).request_id, headers['x-request-id'])
    return headers['x-request-id']
  }
  const usual = [
    ...[ID, ID.toUpperCase(), TRACE, TRACEPARENT, `${ID}#12/a:b.c+d_e`, `${'x'.repeat(39)}-`, 'x:'.repeat(32)],
    ...['Root=1-67891233-abcdef012345678912345678', '01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ]
  for (const id of usual) t.equal(await idOf(id), id)
  const secret = generateSecret()
  const odd = ['', 'a b', 'a"b', 'ü', 'x:'.repeat(32).concat('x'), [ID, ID]]
  const refused = [...odd, await token(), secret, `secret=${secret}`, Buffer.alloc(48, 0xfb).toString('base64url')]
  for (const id of refused) t.match(await idOf(id), NEW, String(id))
})

t.test('Request ids: no two are the same, and they are hard to predict', async (t) => {
  const ids = Array.from({ length: 1000 }, newRequestId)
  t.equal(new Set(ids).size, 1000)
  t.ok(new Set(ids.map((id) => id.slice(0, 18))).size >= 4)
})

t.test('Request ids: invalid HTTP has one, too: its own if its headers could be read', async (t) => {
  const { app, lines } = await createWorldOfSuites(t)
  const { dialed, exchange } = await listening(t, app)
  const known = `X-Request-Id: ${ID}\r\nTraceparent: ${TRACEPARENT}`
  const chunked = `${formHead(undefined, known)}Transfer-Encoding: chunked\r\n\r\n`
  const cases: [what: string, bytes: string, id: string | RegExp, trace?: string][] = [
    ['no request', 'nonsense\r\n\r\n', NEW],
    ['headers that could not be read', `GET / HTTP/1.1\r\n${known}\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, NEW],
    ['a method that is not allowed', `CONNECT a:1 HTTP/1.1\r\nHost: a\r\n${known}\r\n\r\n`, ID, TRACE],
    ['a body that is none', `${chunked}no chunk\r\n`, ID, TRACE],
  ]
  for (const [what, bytes, id, trace_id] of cases) {
    const [, request_id] = /\r\nx-request-id: (\S+)\r\n/i.exec(await exchange(bytes)) ?? []
    t.match(request_id, id, what)
    const reason = /^(not HTTP|headers too large)$/
    t.match(await lineOf(lines), { msg: 'request refused', reason, request_id, trace_id }, what)
  }

  const { socket, served } = await dialed()
  socket.write(chunked)
  await once(app.server, 'request')
  const observed: unknown[] = []
  createMalformedAnswers({ observe: (event) => observed.push(event) })('request too slow', served)
  t.match(observed, [{ reason: 'request too slow', requestId: ID, traceId: TRACE }])
  socket.destroy()
})

t.test('W3C Trace Context §3.2.2, §4.3: the trace id of a traceparent of any version is read', async (t) => {
  const read = (text: string) => traceIdOf({ traceparent: text.replaceAll('T', TRACE).replaceAll('P', PARENT) })
  for (const text of ['00-T-P-01', '00-T-P-00', 'cc-T-P-01', 'cc-T-P-01-']) t.equal(read(text), TRACE, text)
  for (const text of ['', 'T', '00-T-P', '00-T-P-1', '00-aT-P-01', '00-T-Pa-01', '00-T-P-0x', '0-T-P-01', '00_T_P_01'])
    t.equal(read(text), undefined, text)
  for (const text of ['00-T-P-01, 00-T-P-01', '00-T-P-01-', 'cc-T-P-01.what', 'cc-T-P-011', 'ff-T-P-01'])
    t.equal(read(text), undefined, text)
  for (const trace of [TRACE.toUpperCase(), TRACE.slice(1), '0'.repeat(32)])
    t.equal(read(`00-${trace}-P-01`), undefined, trace)
  for (const parent of [PARENT.toUpperCase(), '0'.repeat(16)]) t.equal(read(`00-T-${parent}-01`), undefined, parent)
  t.equal(traceIdOf({}), undefined)
  const long = `cc-${TRACE}-${PARENT}-01-`
  t.equal(read(long.padEnd(128, 'x')), TRACE)
  t.equal(read(long.padEnd(129, 'x')), undefined, 'its trace id would keep a longer one in memory')
})
