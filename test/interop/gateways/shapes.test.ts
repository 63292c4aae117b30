import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { CLIENT_HEADERS, EXAMPLES, SUITES } from '../../support/gateways.ts'
import { createWorldOfSuites, ID } from '../../support/world.ts'

t.test('Traefik: the request of forwardAuth is answered as in its example', async (t) => {
  const { app, token, credentials } = await createLabelledWorld(t)
  const example = readFileSync(join(EXAMPLES, 'traefik/dynamic.yml'), 'utf8')
  const addresses = [...example.matchAll(/address: http:\/\/127\.0\.0\.1:8001(\S+)/g)].map(([, url]) => url as string)
  const { http } = parse(example, { merge: true })
  const passedOn: string[] = http.middlewares['check-store'].forwardAuth.authResponseHeaders
  t.strictSame(passedOn, http.middlewares['check-product-information'].forwardAuth.authResponseHeaders)
  t.ok(passedOn.includes('X-Request-Id'), 'the id that the check has is that of the request')
  const authorization = `Bearer ${await token()}`
  const forwarded = {
    'x-forwarded-method': 'POST',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'api.example',
    'x-forwarded-uri': '/store/../product-information/x?a=b',
    'x-forwarded-for': '192.0.2.1',
  }
  // The second one is the request without authRequestHeaders: every header of the client comes along.
  const json = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const client = { ...json, cookie: 'a=b', 'x-client-id': 'forged' }
  for (const more of [{}, client]) {
    const ask = (asked: Record<string, string>) => {
      const headers = { ...forwarded, ...more, ...asked }
      return Promise.all(addresses.map((url) => app.inject({ method: 'GET', url, headers })))
    }
    const valid = await ask({ authorization })
    t.strictSame(statusesOf(valid), [200, 403])
    for (const name of passedOn) t.ok(valid[0]?.headers[name.toLowerCase()], name)
    t.match(valid[0]?.headers, { 'x-client-id': credentials.client_id, 'x-token-id': ID })
    for (const wrong of [{}, { authorization: 'Bearer x' }, { authorization: 'Bearer' }] as Record<string, string>[]) {
      t.strictSame(statusesOf(await ask(wrong)), [401, 401])
    }
    t.strictSame(statusesOf(await ask({ authorization: 'Bearer x y' })), [400, 400])
  }
})

const NAMES = [
  ...[
    'X-Client-Id',
    'X-Application-Name',
    'X-Developer-Email',
    'X-Application-Labels',
    'X-Token-Id',
    'X-Token-Expires',
  ],
]

/** A world whose application has a label that gateways see. */
async function createLabelledWorld(t: Test) {
  const world = await createWorldOfSuites(t)
  await world.administration.update(world.credentials.client_id, { labels: { tier: 'gold' }, publicLabels: ['tier'] })
  return world
}

t.test('Traefik: its example drops what aliases the headers of the check, and limits the check', async (t) => {
  const { http } = parse(readFileSync(join(EXAMPLES, 'traefik/dynamic.yml'), 'utf8'), { merge: true })
  const dropped = http.middlewares['not-from-outside'].headers.customRequestHeaders
  t.strictSame(Object.keys(dropped), ['X-Request-Id', ...NAMES, 'Connection'])
  // Other spellings: by the entry point, of the first version that also drops them from trailers.
  const readme = readFileSync(join(EXAMPLES, 'traefik/README.md'), 'utf8')
  t.match(readme, 'It needs Traefik 3.7.13 or later')
  t.match(readme, '--entryPoints.web.http.aliasHeadersStrategy=delete')
  // The checks go to the token server by an entry point with time-outs.
  const { service, entryPoints } = http.routers.check
  t.strictSame(entryPoints, ['check'])
  const { loadBalancer } = http.services[service]
  t.strictSame(loadBalancer.servers, [{ url: 'http://127.0.0.1:8080' }])
  const { forwardingTimeouts } = http.serversTransports[loadBalancer.serversTransport]
  t.strictSame(forwardingTimeouts, { dialTimeout: '2s', responseHeaderTimeout: '5s' })

  const { verify } = await createWorldOfSuites(t)
  const longest = (await verify('x')).body.length
  for (const suite of SUITES) {
    const [first, check = '', last] = http.routers[suite].middlewares
    t.strictSame([first, last], ['not-from-outside', 'no-token'])
    const { trustForwardHeader, maxResponseBodySize } = http.middlewares[check].forwardAuth
    t.equal(trustForwardHeader, false)
    t.ok(maxResponseBodySize > longest)
  }
})

t.test('ingress-nginx: its example asks about a suite, and passes on the headers of the check', async (t) => {
  const { metadata } = parse(readFileSync(join(EXAMPLES, 'ingress-nginx/ingress.yaml'), 'utf8'))
  const annotation = (name: string) => metadata.annotations[`nginx.ingress.kubernetes.io/${name}`]
  t.strictSame(annotation('auth-response-headers').split(','), NAMES)
  const { pathname } = new URL(annotation('auth-url'))
  const { app, token } = await createWorldOfSuites(t)
  const headers = { authorization: `Bearer ${await token()}` }
  const { statusCode } = await app.inject({ method: annotation('auth-method'), url: pathname, headers })
  t.equal(statusCode, 200)
})

t.test('Gateways: every example passes on every header of the check', async (t) => {
  const { verify, token } = await createLabelledWorld(t)
  const { headers } = await verify(await token())
  const names = Object.keys(headers).filter((name) => name.startsWith('x-') && name !== 'x-content-type-options')
  t.strictSame(names.sort(), [...CLIENT_HEADERS, 'x-request-id'].sort())
  for (const file of ['nginx/nginx.conf', 'caddy/Caddyfile', 'traefik/dynamic.yml', 'envoy/envoy.yaml']) {
    const example = readFileSync(join(EXAMPLES, file), 'utf8').toLowerCase()
    // Once where the client's own is dropped or replaced, and once where the check's is taken; nginx writes it with _.
    for (const name of CLIENT_HEADERS) {
      const times = example.split(name).length + example.split(`$upstream_http_${name.replaceAll('-', '_')}`).length - 2
      t.ok(times >= 2, `${file}: ${name}`)
    }
  }
})

const statusesOf = (answers: { statusCode: number }[]) => answers.map(({ statusCode }) => statusCode)
