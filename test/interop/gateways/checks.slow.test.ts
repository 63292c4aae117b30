import type { ServerResponse } from 'node:http'
import { createGatewayWorld, SUITES, startGateway, testEachGateway, testEachHost } from '../../support/gateways.ts'
import { startRecorder } from '../../support/recorder.ts'
import { ENDINGS } from '../../support/suites.ts'
import { until } from '../../support/until.ts'
import { PUBLIC_URL } from '../../support/world.ts'

const REALM = `Bearer realm="${PUBLIC_URL}"`

testEachGateway('a request without a token is refused and does not reach the suite', async (t, gateway) => {
  const { gateway: front } = await createGatewayWorld(t, gateway)
  for (const suite of SUITES) {
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const { status, headers } = await front.send(`/${suite}/x?access_token=x`, { method })
      t.strictSame([status, headers['www-authenticate']], [401, REALM], `${method} ${suite}`)
    }
    for (const authorization of ['', 'Basic eDp5', 'Bearers x']) {
      t.equal((await front.send(`/${suite}`, { headers: { authorization } })).status, 401, authorization)
    }
  }
  t.equal(front.reached(), 0)
})

testEachGateway('a malformed or doubled header is refused and does not reach the suite', async (t, gateway) => {
  const { gateway: front, token } = await createGatewayWorld(t, gateway)
  const valid = `Bearer ${await token()}`
  const malformed = [`${valid} x`, `${valid}, ${valid}`, 'Bearer ü', [valid, valid], [valid, 'Basic x'], ['x', valid]]
  for (const authorization of malformed) {
    // Envoy makes one header of two: the scheme is then `x,Bearer`, which is another one.
    const expected = gateway.name === 'envoy' && authorization[0] === 'x' ? 401 : 400
    t.equal((await front.send('/store', { headers: { authorization } })).status, expected, String(authorization))
  }
  t.equal(front.reached(), 0)
})

for (const [description, [end]] of Object.entries(ENDINGS)) {
  testEachGateway(`${description} is refused from the next request on`, async (t, gateway) => {
    const world = await createGatewayWorld(t, gateway)
    const accessToken = await world.token()
    const headers = { authorization: `Bearer ${accessToken}` }
    t.equal((await world.gateway.send('/store', { headers })).status, 200)
    await end(world, accessToken)
    const { status, headers: answer } = await world.gateway.send('/store', { headers })
    t.equal(status, 401)
    t.match(answer['www-authenticate'], `${REALM}, error="invalid_token"`)
    t.equal(world.gateway.reached(), 1)
  })
}

testEachGateway('an application reaches the suites that it is approved for, as of each request', async (t, gateway) => {
  const { gateway: front, administration, token, credentials } = await createGatewayWorld(t, gateway)
  const { client_id } = credentials
  const headers = { authorization: `Bearer ${await token()}` }
  const statuses = async () => {
    const answers = await Promise.all(SUITES.map((suite) => front.send(`/${suite}/x`, { headers })))
    for (const answer of answers.filter(({ status }) => status === 403)) {
      t.match(answer.headers['www-authenticate'], `${REALM}, error="insufficient_scope"`)
    }
    return answers.map(({ status }) => status)
  }
  t.strictSame(await statuses(), [200, 403])
  await administration.approve(client_id, 'product-information')
  t.strictSame(await statuses(), [200, 200])
  await administration.withdraw(client_id, 'store')
  t.strictSame(await statuses(), [403, 200])
  t.strictSame([front.suites.store.length, front.suites['product-information'].length], [2, 2])
})

testEachGateway(
  'X-Access-Token may carry the token to the product-information suite, and to no other',
  async (t, gateway) => {
    const { gateway: front, administration, token, post, credentials } = await createGatewayWorld(t, gateway)
    await administration.approve(credentials.client_id, 'product-information')
    const accessToken = await token()
    const status = async (path: string, headers: Record<string, string | string[]>) =>
      (await front.send(path, { headers })).status

    t.equal(await status('/product-information/x', { 'x-access-token': accessToken }), 200)
    const { headers } = front.last('product-information')
    t.match(headers, { 'x-client-id': credentials.client_id })
    t.strictSame([headers.authorization, headers['x-access-token']], [undefined, undefined])
    t.equal(await status('/product-information/x', { 'x-access-token': accessToken, authorization: 'Basic x' }), 200)
    t.equal(front.reached(), 2)

    t.equal(await status('/store/x', { 'x-access-token': accessToken }), 401)
    t.equal(await status('/product-information/x', { x_access_token: accessToken }), 401)
    t.equal(await status('/product-information/x', { 'x-access-token': `${accessToken.slice(0, -1)}!` }), 400)
    t.equal(await status('/product-information/x', { 'x-access-token': `Bearer ${accessToken}` }), 400)
    for (const variable of ['{env.HOME}', '$host']) {
      t.equal(await status('/product-information/x', { 'x-access-token': variable }), 400, 'variables are not expanded')
    }
    const other = await token()
    await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke')
    const revoked = { 'x-access-token': accessToken, authorization: `Bearer ${other}` }
    t.equal(
      await status('/product-information/x', revoked),
      401,
      'an invalid token there is refused, whatever Authorization carries',
    )
    t.equal(front.reached(), 2)

    t.equal(await status('/store/x', { 'x-access-token': 'x', authorization: `Bearer ${other}` }), 200)
    t.equal(front.last('store').headers['x-access-token'], undefined)
  },
)

testEachGateway('it fails closed when the token server is down', async (t, gateway) => {
  const world = await createGatewayWorld(t, gateway)
  const accessToken = await world.token()
  const { gateway: front } = world
  const headers = { authorization: `Bearer ${accessToken}` }
  t.equal((await front.send('/store', { headers })).status, 200)
  world.app.server.closeAllConnections()
  await world.app.close()
  for (const suite of SUITES) {
    t.match((await front.send(`/${suite}`, { headers })).status, /^50[023]$/)
    t.match((await front.send(`/${suite}`)).status, /^50[023]$/)
    t.match((await front.send(`/${suite}`, { headers: { 'x-access-token': accessToken } })).status, /^50[023]$/)
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
    t.equal((await front.send('/store', { headers })).status, 503, String(status))
  }
  current.answer = (response) => response.destroy()
  t.match((await front.send('/store', { headers })).status, /^50[023]$/, 'a connection that breaks off')
  current.answer = (response) => response.socket?.end('SECRET nonsense\r\n\r\n')
  t.match((await front.send('/store', { headers })).status, /^50[023]$/, 'no HTTP')
  t.equal(front.reached(), 0)
})

testEachGateway("the suite's own 4xx and 5xx come back unchanged", async (t, gateway) => {
  const { gateway: front, token } = await createGatewayWorld(t, gateway)
  const authorization = `Bearer ${await token()}`
  for (const status of [201, 302, 400, 401, 403, 404, 500, 502, 503]) {
    const answer = await front.send('/store/x', { headers: { authorization, 'x-answer-with': String(status) } })
    t.match(answer, { status, headers: { 'www-authenticate': 'Suite' }, body: 'from the suite' })
  }
})

const FORGED = { 'x-request-id': 'forged-by-a-client', 'x-correlation-id': 'forged-too' }
const ID = /^[0-9a-f-]{32,36}$/

testEachGateway(
  "a client's request is found in the token server's log, the gateway's and the suite's",
  async (t, gateway) => {
    const { gateway: front, token, lines } = await createGatewayWorld(t, gateway)
    const authorization = `Bearer ${await token()}`
    const suite = () => front.last('store').headers['x-request-id']
    for (const [path, headers, status, line] of [
      ['/store/x', { authorization: 'Bearer x' }, 401, 'token refused'],
      ['/store/x', {}, 401, 'token refused'],
      ['/store/x', { authorization: 'Bearer a b' }, 400, 'request refused'],
      ['/product-information/x', { authorization }, 403, 'token refused'],
      ['/store/x', { authorization }, 200, undefined],
      ['/store/x/../y', { authorization }, 400, undefined],
      ['/', {}, 404, undefined],
    ] as const) {
      lines.length = 0
      const answer = await front.send(path, { headers: { ...headers, ...FORGED } })
      t.equal(answer.status, status)
      const id = String(answer.headers['x-request-id'])
      t.match(id, ID, `${path} ${status}`)
      t.strictSame(
        lines.map((text) => JSON.parse(text)).map(({ msg, request_id }) => [msg, request_id]),
        line ? [[line, id]] : [],
      )
      if (status === 200) t.equal(suite(), id)
      await until(() => front.log().includes(id))
    }
  },
)

testEachHost('a token request is found in the log of the token server', async (t, gateway) => {
  const { gateway: front, lines } = await createGatewayWorld(t, gateway, { oneHost: true })
  for (const [path, status] of [
    ['/v1/oauth/accesstoken', 400],
    ['/v1/oauth', 400],
  ] as const) {
    lines.length = 0
    const answer = await front.send(path, { method: 'POST', headers: FORGED, body: 'a=b' })
    t.equal(answer.status, status)
    const id = String(answer.headers['x-request-id'])
    t.match(id, ID)
    t.strictSame(
      lines.map((text) => JSON.parse(text).request_id),
      [id],
    )
    await until(() => front.log().includes(id))
  }
})
