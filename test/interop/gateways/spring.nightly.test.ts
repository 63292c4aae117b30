import t from 'tap'
import { goesAsWritten, refusesAsWritten } from '../../support/gateway-readme.ts'
import { buildSpring, CLIENT_HEADERS, createGatewayWorld, spring } from '../../support/gateways.ts'
import { needs } from '../../support/needs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { ID } from '../../support/world.ts'

t.test('Spring Cloud Gateway', { skip: needs('mvn') || needs('java') }, async (t) => {
  const gateway = spring(buildSpring(temporaryFolder(t)))

  t.test('README: every path goes where the table of paths says, by every method', (t) => goesAsWritten(t, gateway))

  t.test('README: every refusal has the status and the body that its table says', (t) => refusesAsWritten(t, gateway))

  t.test('the suite gets the identity of the check, whatever the client’s headers say', async (t) => {
    const world = await createGatewayWorld(t, gateway)
    const { front, authorization, credentials, app, accessToken, post } = world
    const aliases = CLIENT_HEADERS.flatMap((name) => [name, name.replaceAll('-', '_'), name.replace('-', '.')])
    const forged = Object.fromEntries(aliases.map((name) => [name, 'forged']))
    const headers = { ...forged, authorization, connection: 'close, x-client-id', 'x-forwarded-for': '192.0.2.9' }
    const path = '/store/products/LP2982AIM5-3.3%2FNOPB?a=b&a=%20'
    t.match(await front.send(path, { headers }), { status: 200, body: 'from the suite' })
    const { url, headers: arrived, rawHeaders } = front.last('store')
    t.equal(url, path)
    t.match(arrived, { 'x-client-id': credentials.client_id, 'x-token-id': ID })
    t.match(arrived, { 'x-application-name': 'St%C3%B6re%20%E2%9C%93' })
    t.equal(arrived.authorization, undefined, 'the suite gets no token')
    t.notMatch(rawHeaders.join(), /forged|Bearer|192\.0\.2\.9/)
    for (const method of ['POST', 'PUT']) {
      t.equal(await front.statusOf('/store/x', { method, headers: { authorization }, body: 'x'.repeat(200_000) }), 200)
      t.equal(front.last('store').body.length, 200_000, method)
    }
    for (const path of AMBIGUOUS) t.not(await front.statusOf(path, { headers: { authorization } }), 200, path)
    for (const status of [201, 302, 401, 500]) {
      const answer = await front.send('/store/x', { headers: { authorization, 'x-answer-with': String(status) } })
      t.match(answer, { status, headers: { 'www-authenticate': 'Suite' }, body: 'from the suite' })
    }
    const reached = front.reached()
    await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke')
    t.equal(await front.statusOf('/store/x', { headers }), 401, 'a revoked token is refused from the next request on')
    app.server.closeAllConnections()
    await app.close()
    t.equal(await front.statusOf('/store/x', { headers }), 503, 'it fails closed')
    t.equal(front.reached(), reached)
  })
})

const AMBIGUOUS = `/store/../product-information/x /store/.. /store/./x //store/x /store//x /store%2fx /%2fstore/x
  /store/%2e%2e/product-information/x /store/%252e%252e/product-information/x /store/..%2fproduct-information/x
  /store/x%2f..%2F..%2fproduct-information/x /store/..;/product-information/x /store/..%5cproduct-information/x
  /store/..\\x /store/%252fx /store/%c0%ae%c0%ae/x /store/%00 /product-information/../store/x`.split(/\s+/)
