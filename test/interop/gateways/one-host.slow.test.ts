import { createGatewayWorld, startGateway, testEachHost } from '../../support/gateways.ts'
import { startRecorder } from '../../support/recorder.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const TOKEN_PATHS = ['/v1/oauth/accesstoken', '/v1/oauth', '/v1/oauth/']

/** Part numbers as clients encode them, and where the suites have them. */
const PRODUCTS = ['LP2982AIM5-3.3%2FNOPB', 'LP2982AIM5-3.3%2fNOPB', 'SN74LVC1G04DBVR', 'TPS7A02%2033PDBVR']

testEachHost('a client gets a token and uses both suites with one base address', async (t, gateway) => {
  const { front, administration, credentials, lines } = await createGatewayWorld(t, gateway)
  await administration.approve(credentials.client_id, 'product-information')
  const body = new URLSearchParams(credentials).toString()
  for (const path of TOKEN_PATHS) {
    const ask = { method: 'POST', headers: { ...FORM, 'x-forwarded-for': '192.0.2.66' }, body }
    const answer = await front.send(path, ask)
    t.equal(answer.status, 200, path)
    t.match(lines.at(-1), '"remote_address":"127.0.0.1"', 'and not what the client says of itself')
    const headers = { authorization: `Bearer ${JSON.parse(answer.body).access_token}`, 'x-client-id': 'forged' }
    for (const product of PRODUCTS) {
      for (const [suite, url] of [
        ['store', `/v2/store/products/${product}?currency=EUR`],
        ['product-information', `/v1/products/${product}`],
      ] as const) {
        t.equal(await front.statusOf(url, { headers }), 200, url)
        t.equal(front.last(suite).url, url)
        t.match(front.last(suite).headers, { 'x-client-id': credentials.client_id, 'x-forwarded-for': '127.0.0.1' })
        t.equal(front.last(suite).headers.authorization, undefined)
      }
    }
    const revoke = `${body}&token=${headers.authorization.slice('Bearer '.length)}`
    t.equal(await front.statusOf('/v1/oauth/revoke', { method: 'POST', headers: FORM, body: revoke }), 200)
    t.equal(await front.statusOf('/v2/store/x', { headers }), 401)
  }
})

testEachHost('RFC 8414 §2: every endpoint that the metadata name is reached', async (t, gateway) => {
  const { front } = await createGatewayWorld(t, gateway)
  const metadata = JSON.parse((await front.send('/.well-known/oauth-authorization-server')).body)
  const endpoints = Object.keys(metadata).filter((name) => name.endsWith('_endpoint'))
  t.match(endpoints, ['authorization_endpoint', 'token_endpoint'])
  for (const name of endpoints) {
    const answer = await front.send(new URL(metadata[name]).pathname, { method: 'POST', headers: FORM, body: 'a=b' })
    t.match(answer.status, /^40[015]$/, name)
    t.match(answer.body, /"error":"invalid_(request|client)"/)
  }
})

testEachHost('RFC 6797 §7.1: every answer tells browsers to use https only, once', async (t, gateway) => {
  const { front, authorization } = await createGatewayWorld(t, gateway)
  for (const [status, path, headers] of [
    [200, '/v2/store/x', { authorization }],
    [405, '/v1/oauth/accesstoken', {}],
    [403, '/v1/products/x', { authorization }],
    [401, '/v2/store/x', {}],
    [401, '/v2/store/x', { authorization: 'Bearer x' }],
    [404, '/', {}],
    [421, '/', { host: 'other.example' }],
  ] as const) {
    const answer = await front.send(path, { headers })
    t.match(answer, { status, headers: { 'strict-transport-security': /^max-age=31536000$/ } }, path)
  }
})

testEachHost('what is not for clients is not reached from outside', async (t, gateway) => {
  const tokenServer = await startRecorder(t, (response) => response.end())
  const front = await startGateway(t, gateway, tokenServer.address)
  const ofTokenServer = ['/verify', '/verify/store', '/introspect/', '/accesstoken/', '/accesstoken/x', 'x']
  const paths = ['/health/ready', '/check/store', '/v2/storex', '/v1/productsx']
  for (const path of [...ofTokenServer.map((path) => `/v1/oauth${path}`), ...paths]) {
    t.equal(await front.statusOf(path), 404, path)
  }
  t.strictSame([tokenServer.arrived.length, front.reached()], [0, 0])
})

testEachHost('the token request and its answer pass unchanged, 429 and Retry-After too', async (t, gateway) => {
  const current = { status: 200 }
  const body = '{"error":"temporarily_unavailable"}'
  const tokenServer = await startRecorder(t, (response) => {
    response.writeHead(current.status, { 'retry-after': '17', 'cache-control': 'no-store' }).end(body)
  })
  const front = await startGateway(t, gateway, tokenServer.address)
  const headers = { ...FORM, authorization: 'Basic eDp5' }
  const request = { method: 'POST', body: 'grant_type=client_credentials&client_secret=a%2Fb' }
  const forwarded = { 'x-forwarded-for': ['192.0.2.66', '192.0.2.67'] }
  for (const path of TOKEN_PATHS) {
    for (current.status of [200, 400, 401, 405, 413, 429, 500, 503]) {
      const answer = await front.send(`${path}?a=b`, { ...request, headers: { ...headers, ...forwarded } })
      t.match(answer, { ...current, body, headers: { 'retry-after': '17', 'cache-control': 'no-store' } })
      const arrived = tokenServer.arrived.at(-1)
      t.match(arrived, { ...request, headers, url: '/v1/oauth/accesstoken?a=b' })
      t.equal(arrived?.headers['x-forwarded-for'], '127.0.0.1')
    }
  }
})

/** Paths by which a client of the store may try to reach the other suite. */
const ATTEMPTS = `
  /v2/store/../../v1/products/x /v2/store/..%2f..%2fv1/products/x /v2/store/%2e%2e/%2e%2e/v1/products/x
  /v2/store/%252e%252e/%252e%252e/v1/products/x /v2/store/x%2f..%2f..%2f..%2fv1%2fproducts
  /v2/store%2f..%2f..%2fv1/products/x /v2%2fstore/x /v2/store%2fx /v2%2f..%2fv1/products/x /v2/store/%252fx
  /v2/store//v1/products //v1/products/x /v2/store;/../../v1/products/x /v2/store/..;/..;/v1/products/x
  /v2/store/..\\..\\v1/products/x /v2/store/%5c..%5c..%5cv1/products /v2/store/./../../v1/products/x`
  .trim()
  .split(/\s+/)

testEachHost('a token that is valid for one suite does not reach the other', async (t, gateway) => {
  const { front, authorization } = await createGatewayWorld(t, gateway)
  const headers = { authorization }
  for (const path of ATTEMPTS) t.equal(await front.statusOf(path, { headers }), 400, path)
  t.equal(front.reached(), 0)
  for (const path of ['/V2/Store/x', '/v2/st%6fre/x']) {
    const before = front.suites.store.length
    const { status } = await front.send(path, { headers })
    t.ok(status === 404 || (status === 200 && front.suites.store.length === before + 1), path)
  }
  for (const path of ['/v1/products', '/V1/products/x', '/v1/product%73/x']) {
    t.match(await front.statusOf(path, { headers }), /^40[34]$/, path)
  }
  t.equal(front.suites['product-information'].length, 0)
})

for (const [name, expected, edit] of [
  ['without a check nobody gets in, and a client that is not approved gets 403', 403, (example: string) => example],
  [
    'by the recipe a client that is not approved gets 401 with the same challenge',
    401,
    (example: string) => {
      const [before, recipe, after] = example.split(/(?<=# Recipe: 401 instead.*\n)((?:[ \t]*# .*\n)+)/)
      return `${before}${recipe?.replaceAll('# ', '')}${after}`
    },
  ],
] as const) {
  testEachHost(name, async (t, gateway) => {
    const { front, authorization, app } = await createGatewayWorld(t, gateway, edit)
    const headers = { authorization }
    const answer = await front.send('/v1/products/x', { headers })
    t.equal(answer.status, expected)
    t.match(answer.headers['www-authenticate'], 'insufficient_scope')
    t.equal(await front.statusOf('/v2/store/x', { headers }), 200)
    t.equal(await front.statusOf('/v2/store/x'), 401)
    t.equal(await front.statusOf('/v2/store/x', { headers: { authorization: 'Bearer a b' } }), 400)
    app.server.closeAllConnections()
    await app.close()
    t.match(await front.statusOf('/v2/store/x', { headers }), /^50[023]$/)
    t.equal(front.reached(), 1)
  })
}
