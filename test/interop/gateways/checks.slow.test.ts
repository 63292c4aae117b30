import type { ServerResponse } from 'node:http'
import { createGatewayWorld, SUITES, startGateway, testEachGateway, testEachHost } from '../../support/gateways.ts'
import { startRecorder } from '../../support/recorder.ts'
import { until } from '../../support/until.ts'
import { PUBLIC_URL } from '../../support/world.ts'

const REALM = `Bearer realm="${PUBLIC_URL}"`

testEachGateway('a request without a token is refused and does not reach the suite', async (t, gateway) => {
  const { front } = await createGatewayWorld(t, gateway)
  for (const suite of SUITES) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const { status, headers } = await front.send(`/${suite}/x?access_token=x`, { method })
      t.strictSame([status, headers['www-authenticate']], [401, REALM], `${method} ${suite}`)
    }
    for (const authorization of ['', 'Basic eDp5', 'Bearers x']) {
      t.equal(await front.statusOf(`/${suite}`, { headers: { authorization } }), 401, authorization)
    }
  }
  t.equal(front.reached(), 0)
})

testEachGateway('a malformed or doubled header is refused and does not reach the suite', async (t, gateway) => {
  const { front, authorization: valid } = await createGatewayWorld(t, gateway)
  const malformed = [`${valid} x`, `${valid}, ${valid}`, 'Bearer ü', [valid, valid], [valid, 'Basic x'], ['x', valid]]
  for (const authorization of malformed) {
    // Envoy makes one header of two: the scheme is then `x,Bearer`, which is another one.
    const expected = gateway.name === 'envoy' && authorization[0] === 'x' ? 401 : 400
    t.equal(await front.statusOf('/store', { headers: { authorization } }), expected, String(authorization))
  }
  t.equal(front.reached(), 0)
})

testEachGateway('an application reaches the suites that it is approved for, as of each request', async (t, gateway) => {
  const world = await createGatewayWorld(t, gateway)
  const { front, administration, authorization, credentials, accessToken, post } = world
  const { client_id } = credentials
  const areAnswered = async (...expected: number[]) => {
    const answers = await Promise.all(SUITES.map((suite) => front.send(`/${suite}/x`, { headers: { authorization } })))
    t.strictSame(answers.map(({ status }) => status).join(), expected.join())
    for (const { status, headers } of answers) {
      if (status === 403) t.match(headers['www-authenticate'], `${REALM}, error="insufficient_scope"`)
      if (status === 401) t.match(headers['www-authenticate'], `${REALM}, error="invalid_token"`)
    }
  }
  await areAnswered(200, 403)
  await administration.approve(client_id, 'product-information')
  await areAnswered(200, 200)
  await administration.withdraw(client_id, 'store')
  await areAnswered(403, 200)
  await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke')
  await areAnswered(401, 401)
  t.strictSame([front.suites.store.length, front.suites['product-information'].length], [2, 2])
})

testEachGateway('X-Access-Token may carry the token to product-information, and to no other', async (t, gateway) => {
  const world = await createGatewayWorld(t, gateway)
  const { front, administration, accessToken, token, post, credentials } = world
  await administration.approve(credentials.client_id, 'product-information')
  const authorization = `Bearer ${await token()}`
  const has = async (status: number, path: string, headers: Record<string, string>) =>
    t.equal(await front.statusOf(path, { headers }), status, `${path} ${Object.keys(headers)}`)

  await has(200, '/product-information/x', { 'x-access-token': accessToken })
  const { headers } = front.last('product-information')
  t.match(headers, { 'x-client-id': credentials.client_id })
  t.strictSame([headers.authorization, headers['x-access-token']], [undefined, undefined])
  await has(200, '/product-information/x', { 'x-access-token': accessToken, authorization: 'Basic x' })
  t.equal(front.reached(), 2)

  await has(401, '/store/x', { 'x-access-token': accessToken })
  await has(401, '/product-information/x', { x_access_token: accessToken })
  // Variables are not expanded.
  for (const malformed of [`${accessToken.slice(0, -1)}!`, `Bearer ${accessToken}`, '{env.HOME}', '$host']) {
    await has(400, '/product-information/x', { 'x-access-token': malformed })
  }
  await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke')
  // An invalid token there is refused, whatever Authorization carries.
  await has(401, '/product-information/x', { 'x-access-token': accessToken, authorization })
  t.equal(front.reached(), 2)

  await has(200, '/store/x', { 'x-access-token': 'x', authorization })
  t.equal(front.last('store').headers['x-access-token'], undefined)
})

const DOWN = /^50[023]$/

testEachGateway('it fails closed when the token server is down', async (t, gateway) => {
  const { front, app, accessToken, authorization } = await createGatewayWorld(t, gateway)
  t.equal(await front.statusOf('/store', { headers: { authorization } }), 200)
  app.server.closeAllConnections()
  await app.close()
  for (const suite of SUITES) {
    for (const headers of [{ authorization }, {}, { 'x-access-token': accessToken }] as Record<string, string>[]) {
      t.match(await front.statusOf(`/${suite}`, { headers }), DOWN)
    }
  }
  t.equal(front.reached(), 1)
  t.notMatch(front.log(), accessToken, 'no token is in its log')
})

testEachGateway('it fails closed when the token server gives any other answer, or none', async (t, gateway) => {
  const current = { answer: (_: ServerResponse) => {} }
  const tokenServer = await startRecorder(t, (response) => current.answer(response))
  const front = await startGateway(t, gateway, tokenServer.address)
  const headers = { authorization: 'Bearer abc' }
  const location = `http://${tokenServer.address}/`
  for (const status of [301, 302, 307, 404, 405, 408, 418, 429, 431, 500, 502, 503, 504]) {
    current.answer = (response) => response.writeHead(status, { location, 'x-client-id': 'a' }).end()
    t.equal(await front.statusOf('/store', { headers }), 503, String(status))
  }
  current.answer = (response) => response.destroy()
  t.match(await front.statusOf('/store', { headers }), DOWN, 'a connection that breaks off')
  current.answer = (response) => response.socket?.end('SECRET nonsense\r\n\r\n')
  t.match(await front.statusOf('/store', { headers }), DOWN, 'no HTTP')
  t.equal(front.reached(), 0)
})

testEachGateway("the suite's own 4xx and 5xx come back unchanged", async (t, gateway) => {
  const { front, authorization } = await createGatewayWorld(t, gateway)
  for (const status of [201, 302, 400, 401, 403, 404, 500, 502, 503]) {
    const answer = await front.send('/store/x', { headers: { authorization, 'x-answer-with': String(status) } })
    t.match(answer, { status, headers: { 'www-authenticate': 'Suite' }, body: 'from the suite' })
  }
})

const FORGED = { 'x-request-id': 'forged-by-a-client', 'x-correlation-id': 'forged-too' }
const ID = /^[0-9a-f-]{32,36}$/

testEachGateway("a request is found in the token server's log, the gateway's and the suite's", async (t, gateway) => {
  const { front, authorization, lines } = await createGatewayWorld(t, gateway)
  for (const [path, headers, status, ...said] of [
    ['/store/x', { authorization: 'Bearer x' }, 401, 'token refused'],
    ['/store/x', {}, 401, 'token refused'],
    ['/store/x', { authorization: 'Bearer a b' }, 400, 'request refused'],
    ['/product-information/x', { authorization }, 403, 'token refused'],
    ['/store/x', { authorization }, 200],
    ['/store/x/../y', { authorization }, 400],
    ['/', {}, 404],
  ] as const) {
    lines.length = 0
    const answer = await front.send(path, { headers: { ...headers, ...FORGED } })
    t.equal(answer.status, status)
    const id = String(answer.headers['x-request-id'])
    t.match(id, ID, `${path} ${status}`)
    const logged = lines.map((text) => JSON.parse(text)).map(({ msg, request_id }) => `${msg} ${request_id}`)
    t.strictSame(logged.join(), said.map((msg) => `${msg} ${id}`).join())
    if (status === 200) t.equal(front.last('store').headers['x-request-id'], id)
    await until(() => front.log().includes(id))
  }
})

testEachHost('a token request is found in the log of the token server', async (t, gateway) => {
  const { front, lines } = await createGatewayWorld(t, gateway)
  for (const path of ['/v1/oauth/accesstoken', '/v1/oauth', '/v1/oauth/']) {
    lines.length = 0
    const { status, headers } = await front.send(path, { method: 'POST', headers: FORGED, body: 'a=b' })
    t.equal(status, 400)
    const id = String(headers['x-request-id'])
    t.match(id, ID)
    t.equal(JSON.parse(lines.join()).request_id, id)
    await until(() => front.log().includes(id))
  }
})
