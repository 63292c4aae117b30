import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { freePort } from './free-port.ts'
import { needs } from './needs.ts'
import { type Arrived, startRecorder } from './recorder.ts'
import { send } from './send.ts'
import { createWorldOfSuites } from './suites.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { until } from './until.ts'

export const EXAMPLES = join(import.meta.dirname, '../../examples')

export const SUITES = ['store', 'product-information'] as const

/** The headers in which a suite learns who the client is. */
export const CLIENT_HEADERS = [
  'x-client-id',
  'x-application-name',
  'x-developer-email',
  'x-token-id',
  'x-token-expires',
]

/** Where a gateway listens and what it has behind it, as host:port. */
interface Addresses {
  gateway: string
  tokenServer: string
  store: string
  productInformation: string
  /** The files of its certificate: it is the one host with TLS. */
  tls?: { certificate: string; key: string }
}

interface Gateway {
  name: string
  /** Says why it cannot be run here; false where it can. */
  skip: () => string | false
  spawn: (folder: string, addresses: Addresses, edit: Edit) => ChildProcess
}

/** What a test changes in an example, as its comments say. */
type Edit = (example: string) => string

// On Debian nginx is where only root's PATH leads.
const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

const GATEWAYS: Gateway[] = [
  { name: 'nginx', skip: () => needs('nginx'), spawn: spawnNginx },
  { name: 'caddy', skip: () => needs('caddy'), spawn: spawnCaddy },
  { name: 'envoy', skip: () => needs('envoy'), spawn: spawnEnvoy },
]

/** A test of the rule with each gateway and its own example. */
export function testEachGateway(rule: string, run: (t: Test, gateway: Gateway) => Promise<void>): void {
  for (const gateway of GATEWAYS) {
    t.test(`${gateway.name}: ${rule}`, { skip: gateway.skip() }, (t) => run(t, gateway))
  }
}

/** A test of the rule with each recipe for one host with TLS. */
export function testEachHost(rule: string, run: (t: Test, gateway: Gateway) => Promise<void>): void {
  const skip = needs('openssl')
  for (const gateway of GATEWAYS.filter(({ name }) => name !== 'envoy')) {
    t.test(`${gateway.name}, one host: ${rule}`, { skip: gateway.skip() || skip }, (t) => run(t, gateway))
  }
}

/** nginx knows no variables in addresses: a copy of the example with the ones of the test. */
function spawnNginx(folder: string, { gateway, tokenServer, store, productInformation, tls }: Addresses, edit: Edit) {
  let conf = edit(readFileSync(join(EXAMPLES, tls ? 'nginx/one-host.conf' : 'nginx/nginx.conf'), 'utf8'))
  const replace = (from: string, to: string) => {
    if (conf.split(from).length !== 2) throw new Error(`Not once in nginx.conf: ${from}`)
    conf = conf.replace(from, to)
  }
  if (tls) {
    replace('listen 443 ssl;', `listen ${gateway} ssl;`)
    replace('/etc/nginx/api.example.crt', tls.certificate)
    replace('/etc/nginx/api.example.key', tls.key)
  } else replace('listen 127.0.0.1:8000;', `listen ${gateway};`)
  replace('server 127.0.0.1:8080;', `server ${tokenServer};`)
  replace('server 127.0.0.1:8081;', `server ${store};`)
  replace('server 127.0.0.1:8082;', `server ${productInformation};`)
  // Where its files are is the installation's, and may be closed to the user of the test.
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  replace('\nhttp {\n', `\nhttp {\n${paths.join(' ')}\n`)
  replace('/var/log/nginx/access.log', `${folder}/access.log`)
  const file = join(folder, 'nginx.conf')
  writeFileSync(file, conf)
  // One process only, so that no worker outlives the test.
  const globals = `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr;`
  return spawn('nginx', ['-e', 'stderr', '-p', folder, '-c', file, '-g', globals], { env: { ...process.env, PATH } })
}

function spawnCaddy(folder: string, { gateway, tokenServer, store, productInformation, tls }: Addresses, edit: Edit) {
  const [host, port] = gateway.split(':')
  const env = {
    PATH,
    HOME: folder,
    TOKEN_SERVER: tokenServer,
    STORE: store,
    PRODUCT_INFORMATION: productInformation,
    GATEWAY_HOST: host,
    GATEWAY_PORT: port,
    ...(tls && { GATEWAY_NAME: 'localhost', CERTIFICATE: tls.certificate, CERTIFICATE_KEY: tls.key }),
  }
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, edit(readFileSync(join(EXAMPLES, tls ? 'caddy/one-host.Caddyfile' : 'caddy/Caddyfile'), 'utf8')))
  return spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { env })
}

function spawnEnvoy(folder: string, { gateway, tokenServer, store, productInformation }: Addresses): ChildProcess {
  let yaml = readFileSync(join(EXAMPLES, 'envoy/envoy.yaml'), 'utf8')
  const ports = { 8000: gateway, 8080: tokenServer, 8081: store, 8082: productInformation }
  for (const [port, address] of Object.entries(ports)) {
    yaml = yaml.replaceAll(`port_value: ${port} `, `port_value: ${address.split(':')[1]} `)
  }
  const file = join(folder, 'envoy.yaml')
  writeFileSync(file, yaml)
  const options = ['--concurrency', '1', '--disable-hot-restart', '--log-level', 'warning']
  return spawn('envoy', ['-c', file, ...options], { env: { ...process.env, PATH } })
}

const answerAsSuite: Parameters<typeof startRecorder>[1] = (response, headers) => {
  const more = { 'www-authenticate': 'Suite', location: '/elsewhere', 'x-request-id': 'of-the-suite' }
  response.writeHead(Number(headers['x-answer-with'] ?? 200), more).end('from the suite')
}

/** A certificate for `localhost`, signed by itself. */
function makeCertificate(folder: string): { certificate: string; key: string } {
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const args = ['req', '-x509', ...curve, ...subject, '-keyout', key, '-out', certificate]
  execFileSync('openssl', args, { stdio: 'pipe' })
  return { certificate, key }
}

interface GatewayOptions {
  /** The recipe for one host with TLS. */
  oneHost?: boolean
  edit?: Edit
}

/** The suites of the examples, each an HTTP server that notes what arrives, behind one gateway with its own example. */
export async function startGateway(
  t: Test,
  gateway: Gateway,
  tokenServer: string,
  { oneHost = false, edit = (example) => example }: GatewayOptions = {},
) {
  const store = await startRecorder(t, answerAsSuite)
  const productInformation = await startRecorder(t, answerAsSuite)
  const addresses = {
    gateway: `127.0.0.1:${await freePort()}`,
    tokenServer,
    store: store.address,
    productInformation: productInformation.address,
  }
  const folder = temporaryFolder(t)
  const tls = oneHost ? makeCertificate(folder) : undefined
  const child = gateway.spawn(folder, { ...addresses, ...(tls && { tls }) }, edit)
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => output.push(String(chunk)))
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const ca = tls && readFileSync(tls.certificate, 'utf8')
  const sendHere = (path: string, options?: Parameters<typeof send>[2]) =>
    send(addresses.gateway, path, { ...options, ...(ca && { ca }) })
  // Outside of the suites there is nothing, also when it is ready.
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`${gateway.name} exited: ${output.join('')}`)
    return (await sendHere('/').catch(() => undefined))?.status === 404
  })

  const suites = { store: store.arrived, 'product-information': productInformation.arrived }
  return {
    address: addresses.gateway,
    suites,
    /** All that it wrote, its access log too where it keeps one. */
    log: () => output.join('') + (gateway.name === 'nginx' ? readFileSync(join(folder, 'access.log'), 'utf8') : ''),
    send: sendHere,
    /** How many requests have reached the suites. */
    reached: () => suites.store.length + suites['product-information'].length,
    /** What reached the suites last. */
    last: (suite: (typeof SUITES)[number]) => suites[suite].at(-1) as Arrived,
  }
}

/** A world of suites behind a gateway. Its application is approved for `store` only. */
export async function createGatewayWorld(t: Test, gateway: Gateway, options: GatewayOptions = {}) {
  const world = await createWorldOfSuites(t, { trustProxy: ['127.0.0.1'] })
  const tokenServer = new URL(await world.app.listen({ host: '127.0.0.1', port: 0 })).host
  return { ...world, gateway: await startGateway(t, gateway, tokenServer, options) }
}
