import { createGatewayWorld, testEachGateway } from '../../support/gateways.ts'
import { sendBytes } from '../../support/send.ts'

/** Paths that a gateway and a suite could read differently. */
const AMBIGUOUS = [
  '/store/../product-information/x',
  '/store/..',
  '/store/./x',
  '/store/.',
  '/store/..?a=b',
  '//store/x',
  '/store//x',
  '/store//product-information/x',
  '/store/%2e%2e/product-information/x',
  '/store/.%2E/product-information/x',
  '/store/%2E./product-information/x',
  '/store/%252e%252e/product-information/x',
  '/store/..%2fproduct-information/x',
  '/store/..%2Fproduct-information/x',
  '/store%2fx',
  '/store%2f..%2fproduct-information/x',
  '/%2fstore/x',
  '/store%2F%2e%2e/product-information/x',
  '/store/x%2f..%2f..%2fproduct-information/x',
  '/store/x%2F%2E%2E%2F%2E%2E%2Fproduct-information/x',
  '/store/x%2f%2e%2e/..%2fproduct-information/x',
  '/store/.%2fx',
  '/store/x%2f.',
  '/store/x%2f..?a=b',
  '/store/x%2f%2fy',
  '/store/x%2f/y',
  '/store/%2fproduct-information/x',
  '/store/%252fx',
  '/store/x%25252f..%25252fy',
  '/store/./../product-information/x',
  '/store;/../product-information/x',
  '/store/;/../product-information/x',
  '/store/..%3f/product-information/x',
  '/store/..%23/product-information/x',
  '/STORE/..%2Fproduct-information/x',
  '/store/%5C..%5Cproduct-information/x',
  '/store/%c0%ae%c0%ae%c0%afproduct-information/x',
  '/store/%u002e%u002e%u002fproduct-information/x',
  '/store/%252f../x',
  '/store/..%5cproduct-information/x',
  '/store/..\\product-information/x',
  '/store/..;/product-information/x',
  '/store/..;a=b/product-information/x',
  '/store/..%3b/product-information/x',
  '/store/%00',
]

/** Paths that belong to `store` and to nothing else, as they are. */
const IN_STORE = [
  '/store',
  '/store/',
  '/store?suite=product-information',
  '/store/x?next=/../product-information//y%2f..%2f',
  '/store/product-information/x',
  '/store/..x/.well-known/a..b/...',
  '/store/a%20b/%E2%9C%93;v=1/100%25',
  '/store/:id@*~!$&()+,=',
  // Part numbers, as clients encode them.
  '/store/v2/store/products/LP2982AIM5-3.3%2FNOPB',
  '/store/v2/store/products/LP2982AIM5-3.3%2fNOPB',
  '/store/v2/store/products/LP2982AIM5-3.3%2FNOPB/quotes?a=%2F..%2F',
  '/store/v2/store/products/SN74LVC1G04DBVR',
  '/store/v2/store/products/TPS7A02%2033PDBVR',
  '/store/v2/store/products/A%2F.B%2F..C%2FD..',
  '/store/%2B%2B%25%26',
]

/** Paths that belong to no suite. */
const NOWHERE = [
  '/',
  '/storex',
  '/store-x/y',
  '/store;/x',
  '/x/store/y',
  '/check/store',
  '/check/product-information',
  '/v1/oauth/verify/store',
  '/v1/oauth/accesstoken',
]

testEachGateway(
  'the path that is checked is the path that is forwarded, byte for byte, and an ambiguous path is refused',
  async (t, gateway) => {
    const { gateway: front, administration, token, credentials } = await createGatewayWorld(t, gateway)
    const headers = { authorization: `Bearer ${await token()}` }
    for (const path of AMBIGUOUS) t.equal((await front.send(path, { headers })).status, 400, path)
    for (const path of NOWHERE) t.equal((await front.send(path, { headers })).status, 404, path)
    t.equal(front.reached(), 0)

    for (const path of IN_STORE) {
      t.equal((await front.send(path, { headers })).status, 200, path)
      t.equal(front.last('store').url, path)
    }
    for (const path of ['/product-information', '/product-information/store/x?/store/']) {
      t.equal((await front.send(path, { headers })).status, 403, path)
    }
    // An encoded letter in the name of the suite. Envoy does not decode it, and knows no such suite.
    const encoded = { '/st%6fre/x': 200, '/product-informati%6fn/x': 403 }
    for (const [path, status] of Object.entries(encoded)) {
      t.equal((await front.send(path, { headers })).status, gateway.name === 'envoy' ? 404 : status, path)
    }
    if (gateway.name !== 'envoy') t.equal(front.last('store').url, '/st%6fre/x')
    const targets = [
      'http://127.0.0.1/product-information/x',
      'http://store/product-information/x',
      '*',
      'store/x',
      '/product-information/x#/../store',
    ]
    for (const target of targets) {
      const bytes = `GET ${target} HTTP/1.1\r\nHost: a\r\nAuthorization: ${headers.authorization}\r\nConnection: close\r\n\r\n`
      t.match(await sendBytes(front.address, bytes), /^HTTP\/1\.1 (400|403|404) /, target)
    }
    t.equal(front.suites['product-information'].length, 0)

    // The other way round: a token that is valid for product-information only does not get to the store.
    await administration.approve(credentials.client_id, 'product-information')
    await administration.withdraw(credentials.client_id, 'store')
    const before = front.suites.store.length
    for (const path of [...AMBIGUOUS, ...NOWHERE, ...IN_STORE, '/st%6fre/x']) await front.send(path, { headers })
    t.equal(front.suites.store.length, before)
  },
)
