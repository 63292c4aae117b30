import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { makeCertificate } from './certificate.ts'
import { freePort } from './free-port.ts'
import { needs } from './needs.ts'
import { type Arrived, startRecorder } from './recorder.ts'
import { send } from './send.ts'
import { temporaryFolder } from './temporary-folder.ts'
import { until } from './until.ts'
import { createWorldOfSuites } from './world.ts'

export const EXAMPLES = join(import.meta.dirname, '../../examples')

export const SUITES = ['store', 'product-information'] as const

/** The headers in which a suite learns who the client is. */
export const CLIENT_HEADERS = [
  ...['client-id', 'application-name', 'developer-email', 'application-labels', 'token-id', 'token-expires'],
].map((name) => `x-${name}`)

/** Where a gateway listens and what it has behind it, as host:port. */
interface Addresses {
  gateway: string
  tokenServer: string
  store: string
  productInformation: string
  /** The secrets of the suites, for gateways that ask by introspection. */
  secrets: Record<(typeof SUITES)[number], string>
  /** The files of its certificate: it is the one host with TLS. */
  tls?: { certificate: string; key: string }
}

/** What a test changes in an example. */
export type Edit = (example: string) => string

export interface Gateway {
  /** The program. */
  name: string
  /** Of its tests, if not only the program is needed. */
  skip?: string | false
  /** The folder of its example, if it has another name. */
  folder?: string
  /** What it asks the token server, instead of the gateway check. */
  asks?: '/v1/oauth/introspect'
  spawn: (folder: string, addresses: Addresses, edit: Edit) => ChildProcess
  /** The recipe for one host with TLS. */
  oneHost?: boolean
}

// On Debian nginx and haproxy are where only root's PATH leads.
export const PATH = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

const GATEWAYS: Gateway[] = [
  { name: 'nginx', spawn: spawnNginx },
  { name: 'caddy', spawn: spawnCaddy },
  { name: 'envoy', spawn: spawnEnvoy },
]

const APACHE_MODULES = '/usr/lib/apache2/modules'

const apache = (example: string, module: string): Gateway => ({
  name: 'apache2',
  get skip() {
    return needs('apache2') || needs(`mod_${module}`, existsSync(`${APACHE_MODULES}/mod_${module}.so`))
  },
  folder: 'apache',
  asks: '/v1/oauth/introspect',
  spawn: (...args) => spawnApache(example, module, ...args),
})

/** Apache with mod_oauth2. */
export const APACHE = apache('apache/apache.conf', 'oauth2')

/** Apache with mod_auth_openidc, in front of the store only. */
export const APACHE_OPENIDC = apache('apache/auth-openidc.conf', 'auth_openidc')

/** A test of the rule with each gateway and its own example. */
export function testEachGateway(rule: string, run: (t: Test, gateway: Gateway) => Promise<void>): void {
  for (const gateway of GATEWAYS) {
    t.test(`${gateway.name}: ${rule}`, { skip: needs(gateway.name) }, (t) => run(t, gateway))
  }
}

/** A test of the rule with each example: in front of the suites, and for one host with TLS. */
export function testEachExample(rule: string, run: (t: Test, gateway: Gateway) => Promise<void>): void {
  testEachGateway(rule, run)
  testEachHost(rule, run)
}

/** A test of the rule with each recipe for one host with TLS. */
export function testEachHost(rule: string, run: (t: Test, gateway: Gateway) => Promise<void>): void {
  for (const gateway of GATEWAYS.filter(({ name }) => name !== 'envoy')) {
    const skip = needs(gateway.name) || needs('openssl')
    t.test(`${gateway.name}, one host: ${rule}`, { skip }, (t) => run(t, { ...gateway, oneHost: true }))
  }
}

export const readExample = (path: string) => readFileSync(join(EXAMPLES, path), 'utf8')

function writeFile(folder: string, name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

/** nginx knows no variables in addresses: a copy of the example with the ones of the test. */
function spawnNginx(folder: string, { gateway, tokenServer, store, productInformation, tls }: Addresses, edit: Edit) {
  // Where its files are is the installation's, and may be closed to the user of the test.
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = kinds.map((name) => `${name}_temp_path ${folder}/${name};`)
  let conf = edit(readExample(tls ? 'nginx/one-host.conf' : 'nginx/nginx.conf'))
  for (const [from, to] of [
    ...(tls
      ? ([
          ['listen 443 ssl default_server;', `listen ${gateway} ssl default_server;`],
          ['listen 443 ssl;', `listen ${gateway} ssl;`],
          ['server_name api.example;', 'server_name localhost;'],
          ['/etc/nginx/api.example.crt', tls.certificate],
          ['/etc/nginx/api.example.key', tls.key],
        ] as const)
      : [['listen 127.0.0.1:8000;', `listen ${gateway};`] as const]),
    ['server 127.0.0.1:8080;', `server ${tokenServer};`],
    ['server 127.0.0.1:8081;', `server ${store};`],
    ['server 127.0.0.1:8082;', `server ${productInformation};`],
    ['\nhttp {\n', `\nhttp {\n${paths.join(' ')}\n`],
    ['/var/log/nginx/access.log', `${folder}/access.log`],
  ] as const) {
    if (conf.split(from).length !== 2) throw new Error(`Not once in nginx.conf: ${from}`)
    conf = conf.replace(from, to)
  }
  const file = writeFile(folder, 'nginx.conf', conf)
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
  const example = readExample(tls ? 'caddy/one-host.Caddyfile' : 'caddy/Caddyfile')
  const file = writeFile(folder, 'Caddyfile', edit(example))
  return spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], { env })
}

function spawnEnvoy(folder: string, { gateway, tokenServer, store, productInformation }: Addresses, edit: Edit) {
  let yaml = edit(readExample('envoy/envoy.yaml'))
  const ports = { 8000: gateway, 8080: tokenServer, 8081: store, 8082: productInformation }
  for (const [port, address] of Object.entries(ports)) {
    yaml = yaml.replaceAll(`port_value: ${port} `, `port_value: ${address.split(':')[1]} `)
  }
  const file = writeFile(folder, 'envoy.yaml', yaml)
  const options = ['--concurrency', '1', '--disable-hot-restart', '--log-level', 'warning']
  return spawn('envoy', ['-c', file, ...options], { env: { ...process.env, PATH } })
}

/** Apache with an example, the modules that this needs, and the secrets of the suites. */
function spawnApache(name: string, module: string, folder: string, addresses: Addresses, edit: Edit) {
  const { gateway, tokenServer, store, productInformation, secrets } = addresses
  const defined = [
    `Define STORE_SECRET ${secrets.store}`,
    `Define PRODUCT_INFORMATION_SECRET ${secrets['product-information']}`,
  ]
  const secretsFile = writeFile(folder, 'suite-secrets.conf', defined.join('\n'))
  const example = edit(readExample(name))
    .replaceAll('127.0.0.1:8000', gateway)
    .replaceAll('127.0.0.1:8080', tokenServer)
    .replaceAll('127.0.0.1:8081', store)
    .replaceAll('127.0.0.1:8082', productInformation)
    .replace('/etc/apache2/suite-secrets.conf', secretsFile)
  const modules = `mpm_event authn_core authz_core headers setenvif alias proxy proxy_http ${module}`.split(' ')
  const file = writeFile(
    folder,
    'apache.conf',
    [
      `ServerRoot ${folder}`,
      `PidFile ${folder}/pid`,
      'ServerName localhost',
      `ErrorLog ${folder}/error.log`,
      'Mutex posixsem',
      `Listen ${gateway}`,
      ...(process.getuid?.() === 0 ? ['User nobody', 'Group nogroup'] : []),
      ...modules.map((name) => `LoadModule ${name}_module ${APACHE_MODULES}/mod_${name}.so`),
      example,
    ].join('\n'),
  )
  // One process only, so that no worker outlives the test.
  return spawn('apache2', ['-X', '-f', file], { env: { ...process.env, PATH } })
}

const FOLDER_OF_SPRING = join(EXAMPLES, 'spring-cloud-gateway')

/** Builds the example for Spring Cloud Gateway in a folder. Returns its program. */
export function buildSpring(folder: string): string {
  cpSync(FOLDER_OF_SPRING, folder, { recursive: true })
  execFileSync('mvn', ['-q', '-B', 'package'], { cwd: folder, stdio: 'pipe' })
  return join(folder, 'target/gateway.jar')
}

/** Spring Cloud Gateway with its example, which has been built. */
export const spring = (jar: string): Gateway => ({
  name: 'spring-cloud-gateway',
  spawn: (folder, { gateway, tokenServer, store, productInformation }, edit) => {
    const yaml = edit(readFileSync(join(FOLDER_OF_SPRING, 'src/main/resources/application.yml'), 'utf8'))
      .replace('port: 8000', `port: ${gateway.split(':')[1]}`)
      .replace('127.0.0.1:8080', tokenServer)
      .replace('127.0.0.1:8081', store)
      .replace('127.0.0.1:8082', productInformation)
    const file = writeFile(folder, 'application.yml', yaml)
    const options = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx256m', '-Dspring.main.banner-mode=off']
    return spawn('java', [...options, '-jar', jar, `--spring.config.location=file:${file}`], { env: process.env })
  },
})

/**
 * Ends a gateway with the test, and waits until it answers with this status. Resolves to a function that returns all that it
 * has said.
 */
export async function untilItAnswers(t: Test, child: ChildProcess, status: number, ask: () => ReturnType<typeof send>) {
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk))
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`The gateway exited: ${said}`)
    return (await ask().catch(() => undefined))?.status === status
  })
  return () => said
}

/** The suites of the examples, each an HTTP server that notes what arrives, behind one gateway with its own example. */
export async function startGateway(
  t: Test,
  gateway: Gateway,
  tokenServer: string,
  edit: Edit = (example) => example,
  secrets: Addresses['secrets'] = { store: 'a', 'product-information': 'b' },
  /** Instead of the store suite here. */
  elsewhere?: string,
) {
  const answerAsSuite: Parameters<typeof startRecorder>[1] = (response, headers) => {
    if (headers['x-answer-with'] === 'nothing') return
    const own = { 'www-authenticate': 'Suite', location: '/elsewhere', 'x-request-id': 'of-the-suite' }
    const more = { ...own, 'strict-transport-security': 'max-age=1' }
    response.writeHead(Number(headers['x-answer-with'] ?? 200), more).end('from the suite')
  }
  const store = await startRecorder(t, answerAsSuite)
  const productInformation = await startRecorder(t, answerAsSuite)
  const address = `127.0.0.1:${await freePort()}`
  const folder = temporaryFolder(t)
  const tls = gateway.oneHost ? makeCertificate(folder).files : undefined
  const addresses = {
    tokenServer,
    store: elsewhere ?? store.address,
    productInformation: productInformation.address,
    secrets,
  }
  const child = gateway.spawn(folder, { gateway: address, ...addresses, ...(tls && { tls }) }, edit)
  const ca = tls && readFileSync(tls.certificate, 'utf8')
  const sendHere = (path: string, options?: Parameters<typeof send>[2]) =>
    send(address, path, { ...options, ...(ca && { ca }) })
  // Outside of the suites there is nothing, also when it is ready.
  const said = await untilItAnswers(t, child, 404, () => sendHere('/'))

  const suites = { store: store.arrived, 'product-information': productInformation.arrived }
  return {
    address,
    ca,
    suites,
    stopSuites: () => {
      store.stop()
      productInformation.stop()
    },
    /** All that it wrote, its access log too where it keeps one. */
    log: () => said() + (gateway.name === 'nginx' ? readFileSync(join(folder, 'access.log'), 'utf8') : ''),
    send: sendHere,
    statusOf: async (...request: Parameters<typeof sendHere>) => (await sendHere(...request)).status,
    /** How many requests have reached the suites. */
    reached: () => suites.store.length + suites['product-information'].length,
    /** What reached the suites last. */
    last: (suite: (typeof SUITES)[number]) => suites[suite].at(-1) as Arrived,
  }
}

/** A world of suites behind a gateway. Its application is approved for `store` only, and has a token. */
export async function createGatewayWorld(t: Test, gateway: Gateway, edit?: Edit) {
  const world = await createWorldOfSuites(t, { trustProxy: ['127.0.0.1'] })
  // They compare `exp` with the clock of the machine.
  if (gateway.asks) world.clock.time = Date.now()
  const tokenServer = new URL(await world.app.listen({ host: '127.0.0.1', port: 0 })).host
  await world.administration.update(world.credentials.client_id, { labels: { tier: 'gold' }, publicLabels: ['tier'] })
  const accessToken = await world.token()
  const authorization = `Bearer ${accessToken}`
  const secrets = { store: world.suiteSecret, 'product-information': world.otherSecret }
  return {
    ...world,
    tokenServer,
    accessToken,
    authorization,
    front: await startGateway(t, gateway, tokenServer, edit, secrets),
  }
}
