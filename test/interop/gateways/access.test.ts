import { createGatewayWorld, SUITES, testEachGateway } from '../../support/gateways.ts'
import { ENDINGS } from '../../support/suites.ts'
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
