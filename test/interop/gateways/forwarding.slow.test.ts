import { once } from 'node:events'
import { connect } from 'node:http2'
import type { Test } from 'tap'
import { CLIENT_HEADERS, createGatewayWorld, SUITES, startGateway, testEachGateway } from '../../support/gateways.ts'
import { startRecorder } from '../../support/recorder.ts'
import { sendBytes } from '../../support/send.ts'
import { ID, START } from '../../support/world.ts'

testEachGateway('a valid token reaches the suite as the identity of its client', async (t, gateway) => {
  const { front, administration, authorization, credentials } = await createGatewayWorld(t, gateway)
  await administration.approve(credentials.client_id, 'product-information')
  const headers = { authorization, 'x-other': 'kept' }
  for (const suite of SUITES) {
    t.match(await front.send(`/${suite}/x?a=b&a=%20`, { headers }), { status: 200, body: 'from the suite' })
    const arrived = front.last(suite)
    t.match(arrived, {
      method: 'GET',
      url: `/${suite}/x?a=b&a=%20`,
      headers: {
        'x-client-id': credentials.client_id,
        'x-application-name': 'St%C3%B6re%20%E2%9C%93',
        'x-developer-email': 'developer@partner.example',
        'x-token-id': ID,
        'x-token-expires': String(START / 1000 + 3600),
        'x-other': 'kept',
      },
    })
    t.equal(arrived.headers.authorization, undefined, 'the suite gets no token')
  }
  t.equal(front.reached(), 2)
})

/** Headers that a client may try to be somebody else with. */
const forge = (value: string | string[], names = CLIENT_HEADERS): Record<string, string | string[]> =>
  Object.fromEntries(names.map((name) => [name, value]))

testEachGateway('the identity comes from the check, whatever the client’s headers say', async (t, gateway) => {
  const { front, authorization, credentials } = await createGatewayWorld(t, gateway)
  t.equal(await front.statusOf('/store', { headers: { authorization } }), 200)
  const real = front.last('store').headers

  const spellings = CLIENT_HEADERS.flatMap((name) => [
    ...[name, name.toUpperCase(), name.replaceAll('-', '_'), name.replace('-', '_'), name.replaceAll('-', '.')],
  ])
  const forgeries = [
    forge('forged', spellings),
    forge(['forged', 'forged again']),
    forge(''),
    { connection: `close, ${CLIENT_HEADERS.join(', ')}` },
  ]
  for (const forged of forgeries) {
    t.equal(await front.statusOf('/store', { headers: { authorization, ...forged } }), 200)
    const { headers, rawHeaders } = front.last('store')
    const folded = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase().replace(/[._]/g, '-'))
    for (const name of CLIENT_HEADERS) {
      t.equal(headers[name], real[name], name)
      t.equal(folded.filter((one) => one === name).length, 1, `${name} is there once`)
    }
    t.notMatch(rawHeaders.join(), 'forged')
  }
  t.equal(real['x-client-id'], credentials.client_id)
  t.equal(front.reached(), 1 + forgeries.length)

  for (const forged of forgeries) t.equal(await front.statusOf('/store', { headers: forged }), 401)
  t.equal(front.reached(), 1 + forgeries.length, 'without a token nothing of it gets through')
})

testEachGateway('a header that the check leaves out is not taken from the client', async (t, gateway) => {
  const tokenServer = await startRecorder(t, (response) => response.end())
  const front = await startGateway(t, gateway, tokenServer.address)
  t.equal(await front.statusOf('/store', { headers: { authorization: 'Bearer abc', ...forge('forged') } }), 200)
  t.notMatch(front.last('store').rawHeaders.join(), 'forged')
})

testEachGateway('a body reaches the suite unchanged, and only with a valid token', async (t, gateway) => {
  const { front, authorization } = await createGatewayWorld(t, gateway)
  const headers = { authorization, 'content-type': 'application/json' }
  const small = JSON.stringify({ name: 'Störe ✓' })
  const large = JSON.stringify({ name: 'x'.repeat(200_000) })
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    for (const body of [small, large, [small], [large, large]]) {
      t.equal(await front.statusOf('/store/x', { method, headers, body }), 200, method)
      t.match(front.last('store'), { method, headers: { 'content-type': 'application/json' } })
      t.ok(front.last('store').body === [body].flat().join(''), 'the body is unchanged')
    }
  }
  const reached = front.reached()
  for (const body of [small, [small]]) t.equal(await front.statusOf('/store/x', { method: 'POST', body }), 401)
  t.equal(front.reached(), reached)
})

testEachGateway('request smuggling: a request in the body of another reaches no suite', async (t, gateway) => {
  const { front, authorization } = await createGatewayWorld(t, gateway)
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
  for (const credentials of [`Authorization: ${authorization}\r\n`, '']) {
    for (const framing of framings) {
      const before = front.reached()
      const bytes = `POST /store/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${credentials}${framing}`
      t.match(await sendBytes(front.address, bytes), /^HTTP\/1\.1 \d/, framing)
      t.ok(front.reached() - before <= (credentials ? 1 : 0))
    }
  }
  t.equal(front.suites['product-information'].length, 0)
  t.ok(front.suites.store.every(({ url }) => url === '/store/x'))
})

testEachGateway('the check is asked with the token and without the body', async (t, gateway) => {
  const tokenServer = await startRecorder(t, (response) => {
    response.setHeader('x-client-id', 'a').end()
  })
  const front = await startGateway(t, gateway, tokenServer.address)
  const ofBody = { 'content-type': 'application/json', expect: '100-continue' }
  const headers = { authorization: 'Bearer abc', ...ofBody, 'x-forwarded-for': '192.0.2.66' }
  for (const suite of SUITES) {
    for (const body of ['{"a":1}', ['{"a":', '1}']]) {
      t.equal(await front.statusOf(`/${suite}/x?y`, { method: 'POST', headers, body }), 200)
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

/** Paths that a gateway and a suite could read differently. */
const AMBIGUOUS = `
  /store/../product-information/x /store/.. /store/./x /store/. /store/..?a=b //store/x /store//x
  /store//product-information/x /store/%2e%2e/product-information/x /store/.%2E/product-information/x
  /store/%2E./product-information/x /store/%252e%252e/product-information/x /store/..%2fproduct-information/x
  /store/..%2Fproduct-information/x /store%2fx /store%2f..%2fproduct-information/x /%2fstore/x
  /store%2F%2e%2e/product-information/x /store/x%2f..%2f..%2fproduct-information/x
  /store/x%2F%2E%2E%2F%2E%2E%2Fproduct-information/x /store/x%2f%2e%2e/..%2fproduct-information/x /store/.%2fx
  /store/x%2f. /store/x%2f..?a=b /store/x%2f%2fy /store/x%2f/y /store/%2fproduct-information/x /store/%252fx
  /store/x%25252f..%25252fy /store/./../product-information/x /store;/../product-information/x
  /store/;/../product-information/x /store/..%3f/product-information/x /store/..%23/product-information/x
  /STORE/..%2Fproduct-information/x /store/%5C..%5Cproduct-information/x
  /store/%c0%ae%c0%ae%c0%afproduct-information/x /store/%u002e%u002e%u002fproduct-information/x /store/%252f../x
  /store/..%5cproduct-information/x /store/..\\product-information/x /store/..;/product-information/x
  /store/..;a=b/product-information/x /store/..%3b/product-information/x /store/%00`
  .trim()
  .split(/\s+/)

/** Paths that belong to `store` and to nothing else, as they are. */
const IN_STORE = `
  /store /store/ /store?suite=product-information /store/x?next=/../product-information//y%2f..%2f
  /store/product-information/x /store/..x/.well-known/a..b/... /store/a%20b/%E2%9C%93;v=1/100%25
  /store/:id@*~!$&()+,= /store/v2/store/products/LP2982AIM5-3.3%2FNOPB
  /store/v2/store/products/LP2982AIM5-3.3%2fNOPB /store/v2/store/products/LP2982AIM5-3.3%2FNOPB/quotes?a=%2F..%2F
  /store/v2/store/products/SN74LVC1G04DBVR /store/v2/store/products/TPS7A02%2033PDBVR
  /store/v2/store/products/A%2F.B%2F..C%2FD.. /store/%2B%2B%25%26`
  .trim()
  .split(/\s+/)

/** Paths that belong to no suite. */
const NOWHERE = `
  / /storex /store-x/y /store;/x /x/store/y /check/store /check/product-information /v1/oauth/verify/store
  /v1/oauth/accesstoken`
  .trim()
  .split(/\s+/)

testEachGateway('a checked path is forwarded byte for byte, and an ambiguous one is refused', async (t, gateway) => {
  const { front, administration, authorization, credentials } = await createGatewayWorld(t, gateway)
  const headers = { authorization }
  for (const path of AMBIGUOUS) t.equal(await front.statusOf(path, { headers }), 400, path)
  for (const path of NOWHERE) t.equal(await front.statusOf(path, { headers }), 404, path)
  t.equal(front.reached(), 0)

  for (const path of IN_STORE) {
    t.equal(await front.statusOf(path, { headers }), 200, path)
    t.equal(front.last('store').url, path)
  }
  for (const path of ['/product-information', '/product-information/store/x?/store/']) {
    t.equal(await front.statusOf(path, { headers }), 403, path)
  }
  // An encoded letter in the name of the suite. Envoy does not decode it, and knows no such suite.
  const encoded = { '/st%6fre/x': 200, '/product-informati%6fn/x': 403 }
  for (const [path, status] of Object.entries(encoded)) {
    t.equal(await front.statusOf(path, { headers }), gateway.name === 'envoy' ? 404 : status, path)
  }
  if (gateway.name !== 'envoy') t.equal(front.last('store').url, '/st%6fre/x')
  const hosts = ['http://127.0.0.1/product-information/x', 'http://store/product-information/x']
  for (const target of [...hosts, '*', 'store/x', '/product-information/x#/../store']) {
    const bytes = `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`
    t.match(await sendBytes(front.address, bytes), /^HTTP\/1\.1 (400|403|404) /, target)
  }
  t.equal(front.suites['product-information'].length, 0)

  // The other way round: a token that is valid for product-information only does not get to the store.
  await administration.approve(credentials.client_id, 'product-information')
  await administration.withdraw(credentials.client_id, 'store')
  const before = front.suites.store.length
  for (const path of [...AMBIGUOUS, ...NOWHERE, ...IN_STORE, '/st%6fre/x']) await front.send(path, { headers })
  t.equal(front.suites.store.length, before)
})

testEachGateway('an ambiguous path that is no UTF-8 is refused, and HTTP/2 is not spoken', async (t, gateway) => {
  const { front, authorization } = await createGatewayWorld(t, gateway)
  for (const path of ['/store/../product-information/x\x80', '/store/x\xff/..%2f..%2fy', '/store//\xc0\xaf']) {
    const bytes = Buffer.from(
      `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
      'latin1',
    )
    t.match(await sendBytes(front.address, bytes), /^HTTP\/1\.1 400 /, path)
  }
  t.equal(await statusOverHttp2(t, front.address, '/store/x', authorization), undefined)
  t.equal(front.reached(), 0)
})

/** The status of a request over HTTP/2 without TLS; undefined where the gateway does not speak it. */
async function statusOverHttp2(t: Test, address: string, path: string, authorization: string) {
  const session = connect(`http://${address}`)
  session.on('error', () => {})
  t.teardown(() => session.destroy())
  const request = session.request({ ':path': path, authorization })
  const [headers] = await once(request, 'response').catch(() => [])
  return headers?.[':status'] as number | undefined
}
