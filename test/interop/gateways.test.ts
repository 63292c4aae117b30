import { readFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createWorldOfSuites, ENDINGS, ID } from '../support/suites.ts'
import { PUBLIC_URL, START } from '../support/world.ts'
import {
  createGatewayWorld,
  EXAMPLES,
  GATEWAYS,
  SUITES,
  sendBytes,
  startGateway,
  startRecorder,
} from './gateway-world.ts'

const REALM = `Bearer realm="${PUBLIC_URL}"`

const CLIENT_HEADERS = ['x-client-id', 'x-application-name', 'x-developer-email', 'x-token-id', 'x-token-expires']

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

for (const gateway of GATEWAYS) {
  const test = (rule: string, run: (t: Test) => Promise<void>) =>
    t.test(`${gateway.name}: ${rule}`, { skip: gateway.skip }, run)

  test('a request without a token is refused and does not reach the suite', async (t) => {
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

  test('a good token reaches the suite as the name of its client, and the answer comes back', async (t) => {
    const { gateway: front, administration, token, credentials } = await createGatewayWorld(t, gateway)
    await administration.approve(credentials.client_id, 'product-information')
    const headers = { authorization: `Bearer ${await token()}`, 'x-other': 'kept' }
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

  test("who the client is says the check, over whatever the client's own headers say", async (t) => {
    const { gateway: front, token, credentials } = await createGatewayWorld(t, gateway)
    const authorization = `Bearer ${await token()}`
    const good = await front.send('/store', { headers: { authorization } })
    t.equal(good.status, 200)
    const real = front.last('store').headers

    const names = CLIENT_HEADERS.flatMap((name) => [
      name,
      name.toUpperCase(),
      name.replaceAll('-', '_'),
      name.replace('-', '_'),
      name.replaceAll('-', '.'),
    ])
    const forgeries: Record<string, string | string[]>[] = [
      Object.fromEntries(names.map((name) => [name, 'forged'])),
      Object.fromEntries(CLIENT_HEADERS.map((name) => [name, ['forged', 'forged again']])),
      Object.fromEntries(CLIENT_HEADERS.map((name) => [name, ''])),
      { connection: `close, ${CLIENT_HEADERS.join(', ')}` },
    ]
    for (const forged of forgeries) {
      t.equal((await front.send('/store', { headers: { authorization, ...forged } })).status, 200)
      const { headers, rawHeaders } = front.last('store')
      for (const name of CLIENT_HEADERS) t.equal(headers[name], real[name], name)
      const folded = rawHeaders.filter((_, at) => at % 2 === 0).map((name) => name.toLowerCase().replace(/[._]/g, '-'))
      for (const name of CLIENT_HEADERS)
        t.equal(folded.filter((one) => one === name).length, 1, `${name} is there once`)
      t.notMatch(rawHeaders.join(), 'forged')
    }
    t.equal(real['x-client-id'], credentials.client_id)
    t.equal(front.reached(), 1 + forgeries.length)

    for (const forged of forgeries) t.equal((await front.send('/store', { headers: forged })).status, 401)
    t.equal(front.reached(), 1 + forgeries.length, 'without a token nothing of it gets through')
  })

  test('what the check leaves out is not taken from the client', async (t) => {
    const tokenServer = await startRecorder(t, (response) => response.end())
    const front = await startGateway(t, gateway, tokenServer.address)
    const forged = Object.fromEntries(CLIENT_HEADERS.map((name) => [name, 'forged']))
    t.equal((await front.send('/store', { headers: { authorization: 'Bearer abc', ...forged } })).status, 200)
    t.notMatch(front.last('store').rawHeaders.join(), 'forged')
  })

  test('a malformed or doubled header is refused and does not reach the suite', async (t) => {
    const { gateway: front, token } = await createGatewayWorld(t, gateway)
    const good = `Bearer ${await token()}`
    const malformed = [
      'Bearer',
      `${good} x`,
      `${good}, ${good}`,
      'Bearer ü',
      [good, good],
      [good, 'Basic x'],
      ['x', good],
    ]
    for (const authorization of malformed) {
      t.equal((await front.send('/store', { headers: { authorization } })).status, 400, String(authorization))
    }
    t.equal(front.reached(), 0)
  })

  for (const [description, [end]] of Object.entries(ENDINGS)) {
    test(`${description} is refused from the next request on`, async (t) => {
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

  test('an application is let to the suites that it is approved for, as of each request', async (t) => {
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

  test("the product-information suite's token may come in X-Access-Token, and no other suite's", async (t) => {
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
      t.equal(await status('/product-information/x', { 'x-access-token': variable }), 400, 'nothing is put in for it')
    }
    const other = await token()
    await post({ ...credentials, token: accessToken }, {}, '/v1/oauth/revoke')
    const revoked = { 'x-access-token': accessToken, authorization: `Bearer ${other}` }
    t.equal(await status('/product-information/x', revoked), 401, 'a bad token there is not made good by another here')
    t.equal(front.reached(), 2)

    t.equal(await status('/store/x', { 'x-access-token': 'x', authorization: `Bearer ${other}` }), 200)
    t.equal(front.last('store').headers['x-access-token'], undefined)
  })

  test('the path that is checked is the path that is forwarded, and a path of two readings is refused', async (t) => {
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

    // The other way round: a token that is good at product-information only does not get to the store.
    await administration.approve(credentials.client_id, 'product-information')
    await administration.withdraw(credentials.client_id, 'store')
    const before = front.suites.store.length
    for (const path of [...AMBIGUOUS, ...NOWHERE, ...IN_STORE]) await front.send(path, { headers })
    t.equal(front.suites.store.length, before)
  })

  test('a body reaches the suite whole, and only with a good token', async (t) => {
    const { gateway: front, token } = await createGatewayWorld(t, gateway)
    const headers = { authorization: `Bearer ${await token()}`, 'content-type': 'application/json' }
    const small = JSON.stringify({ name: 'Störe ✓' })
    const large = JSON.stringify({ name: 'x'.repeat(200_000) })
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
      for (const body of [small, large, [small], [large, large]]) {
        t.equal((await front.send('/store/x', { method, headers, body })).status, 200, method)
        t.match(front.last('store'), { method, headers: { 'content-type': 'application/json' } })
        t.ok(front.last('store').body === [body].flat().join(''), 'the body is whole')
      }
    }
    const reached = front.reached()
    for (const body of [small, [small]]) t.equal((await front.send('/store/x', { method: 'POST', body })).status, 401)
    t.equal(front.reached(), reached)
  })

  test('a request within the body of another does not reach a suite', async (t) => {
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
  })

  test('the check is asked with the token and without the body', async (t) => {
    const tokenServer = await startRecorder(t, (response) => {
      response.setHeader('x-client-id', 'a').end()
    })
    const front = await startGateway(t, gateway, tokenServer.address)
    const headers = { authorization: 'Bearer abc', 'content-type': 'application/json', expect: '100-continue' }
    for (const suite of SUITES) {
      for (const body of ['{"a":1}', ['{"a":', '1}']]) {
        t.equal((await front.send(`/${suite}/x?y`, { method: 'POST', headers, body })).status, 200)
        t.match(tokenServer.arrived.at(-1), {
          method: 'GET',
          url: `/v1/oauth/verify/${suite}`,
          headers: { authorization: 'Bearer abc', 'x-forwarded-for': '127.0.0.1' },
          body: '',
        })
        const asked = tokenServer.arrived.at(-1)?.headers
        t.equal(asked?.['transfer-encoding'], undefined)
        t.equal(asked?.['content-length'] ?? '0', '0')
        t.equal(front.last(suite).body, '{"a":1}')
      }
    }
    t.equal(tokenServer.arrived.length, 4, 'it is asked once for every request, and nothing is cached')
  })

  test('it stays closed when the token server is down', async (t) => {
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

  test('it stays closed when the token server gives any other answer, or none', async (t) => {
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

  test("the suite's own 4xx and 5xx come back as they are", async (t) => {
    const { gateway: front, token } = await createGatewayWorld(t, gateway)
    const authorization = `Bearer ${await token()}`
    for (const status of [201, 302, 400, 401, 403, 404, 500, 502, 503]) {
      const answer = await front.send('/store/x', { headers: { authorization, 'x-answer-with': String(status) } })
      t.match(answer, { status, headers: { 'www-authenticate': 'Suite' }, body: 'from the suite' })
    }
  })
}

t.test('Traefik: the request of forwardAuth is answered as in its example', async (t) => {
  const { app, token, credentials } = await createWorldOfSuites(t)
  const example = readFileSync(join(EXAMPLES, 'traefik/dynamic.yml'), 'utf8')
  const addresses = [...example.matchAll(/address: http:\/\/127\.0\.0\.1:8080(\S+)/g)].map(([, url]) => url as string)
  const authorization = `Bearer ${await token()}`
  const forwarded = {
    'x-forwarded-method': 'POST',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'api.example',
    'x-forwarded-uri': '/store/../product-information/x?a=b',
    'x-forwarded-for': '192.0.2.1',
  }
  // The second one is the request without authRequestHeaders: every header of the client comes along.
  const client = {
    'content-type': 'application/json',
    'content-encoding': 'gzip',
    cookie: 'a=b',
    'x-client-id': 'forged',
  }
  for (const more of [{}, client]) {
    const ask = (headers: Record<string, string>) =>
      Promise.all(
        addresses.map((url) => app.inject({ method: 'GET', url, headers: { ...forwarded, ...more, ...headers } })),
      )
    const good = await ask({ authorization })
    t.strictSame(statusesOf(good), [200, 403])
    t.match(good[0]?.headers, { 'x-client-id': credentials.client_id, 'x-token-id': ID })
    t.strictSame(statusesOf(await ask({})), [401, 401])
    t.strictSame(statusesOf(await ask({ authorization: 'Bearer x' })), [401, 401])
    t.strictSame(statusesOf(await ask({ authorization: 'Bearer' })), [400, 400])
  }
})

t.test('Envoy: the request of ext_authz, with the path behind the prefix, is answered as in its example', async (t) => {
  const { app, token, credentials } = await createWorldOfSuites(t)
  const [, prefix] = /path_prefix: (\S+)/.exec(readFileSync(join(EXAMPLES, 'envoy/envoy.yaml'), 'utf8')) ?? []
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const authorization = `authorization: Bearer ${await token()}\r\n`
  const ask = async (method: string, path: string, headers = '') => {
    const head = `${method} ${prefix}${path} HTTP/1.1\r\nhost: api.example\r\ncontent-length: 0\r\n`
    const envoy = 'x-envoy-internal: true\r\nx-forwarded-for: 192.0.2.1\r\nx-envoy-expected-rq-timeout-ms: 5000\r\n'
    return sendBytes(new URL(address).host, `${head}${envoy}${headers}connection: close\r\n\r\n`)
  }
  const paths = [
    '/store',
    '/store/',
    '/store/x/y?a=b&a=%20',
    '/store?a=/../product-information',
    '/store/%zz/%E2%9C%93',
  ]
  for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
    for (const path of paths) {
      const good = await ask(method, path, authorization)
      t.match(good, /^HTTP\/1\.1 200 OK\r\n/, `${method} ${path}`)
      t.match(good.toLowerCase(), `\r\nx-client-id: ${credentials.client_id.toLowerCase()}\r\n`)
      t.match(await ask(method, path), /^HTTP\/1\.1 401 .*\r\nwww-authenticate: Bearer realm="/is, `${method} ${path}`)
    }
    t.match(await ask(method, '/product-information/store', authorization), /^HTTP\/1\.1 403 /, method)
    t.match(await ask(method, '/storex/store', authorization), /^HTTP\/1\.1 404 /, method)
  }
  t.match(await ask('GET', '/store', 'authorization: Bearer a,Bearer b\r\n'), /^HTTP\/1\.1 400 /)
})

t.test('Gateways: every example hands on every header of the check', async (t) => {
  const { verify, token } = await createWorldOfSuites(t)
  const { headers } = await verify(await token())
  const names = Object.keys(headers).filter((name) => name.startsWith('x-'))
  t.strictSame(names.sort(), [...CLIENT_HEADERS].sort())
  for (const file of ['nginx/nginx.conf', 'caddy/Caddyfile', 'traefik/dynamic.yml', 'envoy/envoy.yaml']) {
    const example = readFileSync(join(EXAMPLES, file), 'utf8').toLowerCase()
    // Once where the client's own is dropped or replaced, and once where the check's is taken; nginx writes it with _.
    for (const name of names) {
      const times = example.split(name).length + example.split(`$upstream_http_${name.replaceAll('-', '_')}`).length - 2
      t.ok(times >= 2, `${file}: ${name}`)
    }
  }
})

const statusesOf = (answers: { statusCode: number }[]) => answers.map(({ statusCode }) => statusCode)
