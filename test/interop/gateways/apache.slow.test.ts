import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { CLIENT_HEADERS, type Gateway, PATH, readExample, startGateway } from '../../support/gateways.ts'
import { needs } from '../../support/needs.ts'
import { until } from '../../support/until.ts'
import { createWorldOfSuites, ENDINGS, ID } from '../../support/world.ts'

const MODULES = 'mpm_event authn_core authz_core headers setenvif alias proxy proxy_http oauth2'.split(' ')

/** Apache with its example, the modules that this needs, and the secrets of the suites. */
const apache = (secrets: Record<string, string>): Gateway => ({
  name: 'apache2',
  spawn: (folder, { gateway, tokenServer, store, productInformation }) => {
    const write = (name: string, lines: string[]) => writeFileSync(join(folder, name), lines.join('\n'))
    const defined = Object.entries(secrets).map(([name, secret]) => `Define ${name} ${secret}`)
    write('suite-secrets.conf', defined)
    const example = readExample('apache/apache.conf')
      .replaceAll('127.0.0.1:8000', gateway)
      .replaceAll('127.0.0.1:8080', tokenServer)
      .replaceAll('127.0.0.1:8081', store)
      .replaceAll('127.0.0.1:8082', productInformation)
      .replace('/etc/apache2/suite-secrets.conf', join(folder, 'suite-secrets.conf'))
    write('apache.conf', [
      `ServerRoot ${folder}`,
      `PidFile ${folder}/pid`,
      'ServerName localhost',
      `ErrorLog ${folder}/error.log`,
      'Mutex posixsem',
      `Listen ${gateway}`,
      ...(process.getuid?.() === 0 ? ['User nobody', 'Group nogroup'] : []),
      ...MODULES.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`),
      example,
    ])
    // One process only, so that no worker outlives the test.
    return spawn('apache2', ['-X', '-f', join(folder, 'apache.conf')], { env: { ...process.env, PATH } })
  },
})

const MODULE = '/usr/lib/apache2/modules/mod_oauth2.so'
const APACHE = { skip: needs('apache2') || needs('mod_oauth2', existsSync(MODULE)) }

async function createApacheWorld(t: Test) {
  const world = await createWorldOfSuites(t)
  world.clock.time = Date.now()
  const { clientSecret } = await world.administration.rotateSecret('product-information', 0)
  const { host } = new URL(await world.app.listen({ host: '127.0.0.1', port: 0 }))
  const gateway = apache({ STORE_SECRET: world.suiteSecret, PRODUCT_INFORMATION_SECRET: clientSecret })
  const accessToken = await world.token()
  const front = await startGateway(t, gateway, host)
  return { ...world, front, accessToken, headers: { authorization: `Bearer ${accessToken}` } }
}

const AMBIGUOUS = `/store/../product-information/x /store/.. /store/./x //store/x /store//x /store%2fx /%2fstore/x
  /store/%2e%2e/product-information/x /store/%252e%252e/product-information/x /store/..%2fproduct-information/x
  /store/x%2f..%2F..%2fproduct-information/x /store/..;/product-information/x /store/..%5cproduct-information/x
  /store/..\\x /store/%252fx /store/%c0%ae%c0%ae/x /store/%00 /product-information/../store/x`.split(/\s+/)

t.test('Apache: a valid token reaches the suite as the identity of its client, no other', APACHE, async (t) => {
  const { front, headers, credentials, app } = await createApacheWorld(t)
  const forged = Object.fromEntries(CLIENT_HEADERS.map((name) => [name, 'forged']))
  const path = '/store/products/LP2982AIM5-3.3%2FNOPB?a=b&a=%20'
  const answer = await front.send(path, { headers: { ...headers, ...forged, connection: 'close, x-client-id' } })
  t.match(answer, { status: 200, body: 'from the suite' })
  const { url, headers: arrived, rawHeaders } = front.last('store')
  t.equal(url, path)
  t.match(arrived, { 'x-client-id': credentials.client_id, 'x-token-id': ID })
  t.equal(arrived.authorization, undefined, 'the suite gets no token')
  t.notMatch(rawHeaders.join(), /forged|Bearer/)
  for (const name of ['x_client_id', 'X.Client-Id', 'x-client_id', 'OAUTH2_CLAIM_client_id', 'X!Client-Id']) {
    t.equal(await front.statusOf('/store/x', { headers: { ...headers, [name]: 'forged' } }), 400, name)
  }
  for (const path of AMBIGUOUS) t.not(await front.statusOf(path, { headers }), 200, path)
  t.equal(await front.statusOf('/product-information/x', { headers }), 401, 'not approved for this suite')
  for (const authorization of ['', 'Bearer x', 'Basic eDp5', `${headers.authorization} x`]) {
    t.equal(await front.statusOf('/store/x', { headers: { ...forged, authorization } }), 401, authorization)
  }
  t.equal(front.reached(), 1)
  app.server.closeAllConnections()
  await app.close()
  await until(async () => (await front.statusOf('/store/x', { headers })) === 401)
})

for (const [ending, [end]] of Object.entries(ENDINGS).slice(1, 3)) {
  t.test(`Apache: ${ending} is refused after a second`, APACHE, async (t) => {
    const world = await createApacheWorld(t)
    const { front, headers, accessToken } = world
    t.equal(await front.statusOf('/store/x', { headers }), 200)
    await end(world, accessToken)
    await until(async () => (await front.statusOf('/store/x', { headers })) === 401)
  })
}
