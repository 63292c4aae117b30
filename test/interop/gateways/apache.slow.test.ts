import { chmodSync, readFileSync } from 'node:fs'
import http from 'node:http'
import https from 'node:https'
import t, { type Test } from 'tap'
import { makeCertificate } from '../../support/certificate.ts'
import { APACHE, APACHE_OPENIDC, CLIENT_HEADERS, createGatewayWorld, type Gateway } from '../../support/gateways.ts'
import { listenHere } from '../../support/listen-here.ts'
import { needs } from '../../support/needs.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'
import { ENDINGS, ID } from '../../support/world.ts'

/** The world of Apache with mod_auth_openidc, which asks only by https: through a proxy with TLS in front of the token server. */
async function createOpenidcWorld(t: Test) {
  const folder = temporaryFolder(t)
  // Apache, which is somebody else once it has started, reads the certificate.
  chmodSync(folder, 0o711)
  const { certificate, key } = makeCertificate(folder).files
  let tokenServer = ''
  const proxy = https.createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, (request, response) => {
    const { method, url, headers } = request
    const forwarded = http.request(`http://${tokenServer}${url}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode as number, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    request.pipe(forwarded)
  })
  const { address } = await listenHere(t, proxy)
  const here = `localhost:${address.split(':')[1]}/v1/oauth/introspect\nOIDCCABundlePath ${certificate}`
  const edit = (example: string) => example.replace('auth.example/v1/oauth/introspect', here)
  const world = await createGatewayWorld(t, APACHE_OPENIDC, edit)
  tokenServer = world.tokenServer
  return world
}

const WORLDS = {
  mod_oauth2: [APACHE, (t: Test) => createGatewayWorld(t, APACHE)],
  mod_auth_openidc: [APACHE_OPENIDC, createOpenidcWorld],
} satisfies Record<string, [Gateway, (t: Test) => ReturnType<typeof createGatewayWorld>]>

const AMBIGUOUS = `/store/../product-information/x /store/.. /store/./x //store/x /store//x /store%2fx /%2fstore/x
  /store/%2e%2e/product-information/x /store/%252e%252e/product-information/x /store/..%2fproduct-information/x
  /store/x%2f..%2F..%2fproduct-information/x /store/..;/product-information/x /store/..%5cproduct-information/x
  /store/..\\x /store/%252fx /store/%c0%ae%c0%ae/x /store/%00 /product-information/../store/x`.split(/\s+/)

for (const [module, [gateway, createWorld]] of Object.entries(WORLDS)) {
  const skip = gateway.skip || needs('openssl')
  t.test(
    `Apache, ${module}: a valid token reaches the suite as the identity of its client, no other`,
    { skip },
    async (t) => {
      const { front, authorization: valid, credentials, app } = await createWorld(t)
      const headers = { authorization: valid }
      const forged = Object.fromEntries(CLIENT_HEADERS.map((name) => [name, 'forged']))
      const path = '/store/products/LP2982AIM5-3.3%2FNOPB?a=b&a=%20'
      const answer = await front.send(path, { headers: { ...headers, ...forged, connection: 'close, x-client-id' } })
      t.match(answer, { status: 200, body: 'from the suite' })
      const { url, headers: arrived, rawHeaders } = front.last('store')
      t.equal(url, path)
      t.match(arrived, { 'x-client-id': credentials.client_id, 'x-token-id': ID })
      t.equal(arrived.authorization, undefined, 'the suite gets no token')
      t.notMatch(rawHeaders.join(), /forged|Bearer/)
      for (const name of [
        'x_client_id',
        'X.Client-Id',
        'x-client_id',
        'OAUTH2_CLAIM_client_id',
        'OIDC_CLAIM_client_id',
        'X!Client-Id',
      ]) {
        t.equal(await front.statusOf('/store/x', { headers: { ...headers, [name]: 'forged' } }), 400, name)
      }
      for (const path of AMBIGUOUS) t.not(await front.statusOf(path, { headers }), 200, path)
      if (module === 'mod_oauth2')
        t.equal(await front.statusOf('/product-information/x', { headers }), 401, 'not approved')
      for (const authorization of ['', 'Bearer x', 'Basic eDp5', `${valid} x`]) {
        t.equal(await front.statusOf('/store/x', { headers: { ...forged, authorization } }), 401, authorization)
      }
      t.equal(front.reached(), 1)
      app.server.closeAllConnections()
      await app.close()
      await until(async () => (await front.statusOf('/store/x', { headers })) === 401)
    },
  )

  for (const [ending, [end]] of Object.entries(ENDINGS).slice(1, 3)) {
    const when = module === 'mod_oauth2' ? 'after a second' : 'from the next request on'
    t.test(`Apache, ${module}: ${ending} is refused ${when}`, { skip }, async (t) => {
      const world = await createWorld(t)
      const { front, authorization, accessToken } = world
      const status = () => front.statusOf('/store/x', { headers: { authorization } })
      t.equal(await status(), 200)
      await end(world, accessToken)
      if (module === 'mod_oauth2') await until(async () => (await status()) === 401)
      else t.equal(await status(), 401)
    })
  }
}
