import { createGatewayWorld, SUITES, startGateway, testEachGateway } from '../../support/gateways.ts'
import { startRecorder } from '../../support/recorder.ts'
import { sendBytes } from '../../support/send.ts'

testEachGateway('a body reaches the suite unchanged, and only with a valid token', async (t, gateway) => {
  const { gateway: front, token } = await createGatewayWorld(t, gateway)
  const headers = { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' }
  const small = JSON.stringify({ name: 'Störe ✓' })
  const large = JSON.stringify({ name: 'x'.repeat(200_000) })
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    for (const body of [small, large, [small], [large, large]]) {
      t.equal((await front.send('/store/x', { method, headers, body })).status, 200, method)
      t.match(front.last('store'), { method, headers: { 'content-type': 'application/json' } })
      t.ok(front.last('store').body === [body].flat().join(''), 'the body is unchanged')
    }
  }
  const reached = front.reached()
  for (const body of [small, [small]]) t.equal((await front.send('/store/x', { method: 'POST', body })).status, 401)
  t.equal(front.reached(), reached)
})

testEachGateway(
  'request smuggling: a request within the body of another does not reach a suite',
  async (t, gateway) => {
    const { gateway: front, token } = await createGatewayWorld(t, gateway)
    const authorization = `Authorization: Bearer ${await token()}\r\n`
    const inner = 'GET /product-information/x HTTP/1.1\r\nHost: a\r\nX-Client-Id: forged\r\n\r\n'
    const chunk = `${Buffer.byteLength(inner).toString(16)}\r\n${inner}\r\n0\r\n\r\n`
    const framings = [
      `Content-Length: ${inner.length}\r\n\r\n${inner}`,
      `Content-Length: ${inner.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
      `Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n${chunk}`,
      `Content-Length: 0\r\nContent-Length: ${inner.length}\r\n\r\n${inner}`,
      `Transfer-Encoding: xchunked\r\n\r\n${chunk}`,
      `Transfer-Encoding : chunked\r\n\r\n${chunk}`,
      `Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${chunk}`,
    ]
    for (const credentials of [authorization, '']) {
      for (const framing of framings) {
        const before = front.reached()
        const bytes = `POST /store/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${credentials}${framing}`
        t.match(await sendBytes(front.address, bytes), /^HTTP\/1\.1 \d/, framing)
        t.ok(front.reached() - before <= (credentials ? 1 : 0))
      }
    }
    t.equal(front.suites['product-information'].length, 0)
    t.ok(front.suites.store.every(({ url }) => url === '/store/x'))
  },
)

testEachGateway('the check is asked with the token and without the body', async (t, gateway) => {
  const tokenServer = await startRecorder(t, (response) => {
    response.setHeader('x-client-id', 'a').end()
  })
  const front = await startGateway(t, gateway, tokenServer.address)
  const headers = {
    authorization: 'Bearer abc',
    'content-type': 'application/json',
    expect: '100-continue',
    'x-forwarded-for': '192.0.2.66',
  }
  for (const suite of SUITES) {
    for (const body of ['{"a":1}', ['{"a":', '1}']]) {
      t.equal((await front.send(`/${suite}/x?y`, { method: 'POST', headers, body })).status, 200)
      const asIs = gateway.name === 'envoy'
      t.match(tokenServer.arrived.at(-1), {
        method: asIs ? 'POST' : 'GET',
        url: `/v1/oauth/verify/${suite}${asIs ? '/x?y' : ''}`,
        headers: { authorization: 'Bearer abc' },
        body: '',
      })
      const asked = tokenServer.arrived.at(-1)?.headers
      t.equal(asked?.['transfer-encoding'], undefined)
      t.equal(asked?.['content-length'] ?? '0', '0')
      t.equal(front.last(suite).body, '{"a":1}')
      for (const headers of [asked, front.last(suite).headers]) {
        // Envoy takes an address of the machine for a client on the machine itself.
        t.match(headers?.['x-forwarded-for'], asIs ? /^[\d.]+$/ : /^127\.0\.0\.1$/)
        t.not(headers?.['x-forwarded-for'], '192.0.2.66', 'what the client says of itself is dropped')
      }
    }
  }
  t.equal(tokenServer.arrived.length, 4, 'it is asked once for every request, and nothing is cached')
})
