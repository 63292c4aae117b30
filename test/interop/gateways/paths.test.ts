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
  '/st%6fre/x',
  '/store/:id@*~!$&()+,=',
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
  'the path that is checked is the path that is forwarded, and an ambiguous path is refused',
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
    for (const path of ['/product-information', '/product-informati%6fn/x', '/product-information/store/x?/store/']) {
      t.equal((await front.send(path, { headers })).status, 403, path)
    }
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
    for (const path of [...AMBIGUOUS, ...NOWHERE, ...IN_STORE]) await front.send(path, { headers })
    t.equal(front.suites.store.length, before)
  },
)
