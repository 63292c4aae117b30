import { existsSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { readConfig } from '../../src/config.ts'
import { ROOT, read } from './files.ts'

interface Service {
  image: string
  profiles?: string[]
  ports?: string[]
  environment?: Record<string, string>
  volumes?: string[]
  secrets?: string[]
  networks?: Record<string, { ipv4_address: string }>
  depends_on?: Record<string, unknown>
  extends?: { file: string; service: string }
}

interface Compose {
  services: Record<string, Service>
  secrets?: Record<string, { file: string }>
  volumes: Record<string, unknown>
}

/** The services of a file by their names, and what else it declares. */
function readCompose(file: string): Compose {
  const compose = parse(read(file), { merge: true })
  for (const [name, { extends: other, ...service }] of Object.entries<Service>(compose.services)) {
    if (other === undefined) continue
    const base = readCompose(other.file).services[other.service]
    compose.services[name] = { ...base, ...service, volumes: [...(base?.volumes ?? []), ...(service.volumes ?? [])] }
  }
  return compose
}

const FILES = ['compose.yaml', 'compose.postgres.yaml'].map((file) => {
  const compose = readCompose(file)
  const nodes = Object.entries(compose.services).filter(([, { image }]) => image === 'token-server')
  return { file, ...compose, nodes }
})

t.test('Compose: every container is read-only and without capabilities', async (t) => {
  const expected = { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] }
  for (const service of FILES.flatMap(({ services }) => Object.values(services))) t.match(service, expected)
})

t.test('Compose: what a service uses is in the repository or declared', async (t) => {
  for (const { services, secrets = {}, volumes } of FILES) {
    const isThere = (source = '') => (source.startsWith('.') ? existsSync(join(ROOT, source)) : source in volumes)
    const missing = Object.values(services).flatMap((service) => [
      ...(service.volumes ?? []).filter((mount) => !isThere(mount.split(':')[0])),
      ...(service.secrets ?? []).filter((secret) => !(secret in secrets)),
      ...Object.keys(service.depends_on ?? {}).filter((other) => !(other in services)),
    ])
    t.strictSame(missing, [])
  }
})

t.test('Compose: the settings of the nodes are right, and no password is among them', async (t) => {
  for (const { nodes } of FILES) {
    t.ok(nodes.length > 0)
    for (const [, { environment = {}, secrets = [] }] of nodes) {
      const { DATABASE_URL, ...config } = readConfig(environment)
      const others = Object.keys(environment).filter((name) => !(name in config))
      t.strictSame(others, ['DATABASE_URL'])
      if (DATABASE_URL.kind === 'sqlite') continue
      t.equal(DATABASE_URL.password, undefined)
      t.ok(secrets.includes(String(DATABASE_URL.passwordFile?.replace('/run/secrets/', ''))))
    }
  }
})

t.test('Compose: the proxy knows the nodes, and the nodes trust the proxy', async (t) => {
  const { services } = readCompose('compose.postgres.yaml')
  const addressOf = (name: string) => services[name]?.networks?.default?.ipv4_address as string
  for (const [at, name] of ['node-1', 'node-2'].entries()) {
    const { PORT, TRUST_PROXY } = services[name]?.environment ?? {}
    t.equal(services.proxy?.environment?.[`NODE_${at + 1}`], `${addressOf(name)}:${PORT}`)
    t.equal(TRUST_PROXY, addressOf('proxy'))
  }
})

t.test('Compose: the secrets are where git does not look', async (t) => {
  const ignored = read('.gitignore').split('\n')
  for (const { file } of Object.values(readCompose('compose.postgres.yaml').secrets ?? {})) {
    t.ok(ignored.includes(file.replace(/^\.\/([^/]+\/).*/, '$1')), file)
  }
})

t.test('Compose: ports are published on this machine only, and OPS_ADDRESS is never', async (t) => {
  for (const { file, services, nodes } of FILES) {
    const published = Object.values(services).flatMap(({ ports = [] }) => ports)
    const consoles = nodes.flatMap(([, { environment }]) => environment?.ADMIN_ADDRESS ?? [])
    t.strictSame(consoles, file === 'compose.yaml' ? ['0.0.0.0:8081'] : [], file)
    const expected = ['127.0.0.1:3000:3000', '127.0.0.1:8080:8080', '127.0.0.1:9090:9090']
    t.strictSame(published.sort(), [...expected, ...consoles.map(() => '127.0.0.1:8081:8081')].sort(), file)
  }
})

t.test('Compose: Prometheus and Grafana are there on demand, in a version that is named', async (t) => {
  for (const { file, services } of FILES) {
    const onDemand = Object.keys(services).filter((name) => services[name]?.profiles?.includes('monitoring'))
    t.strictSame(onDemand.sort(), ['grafana', 'prometheus'], file)
    for (const name of onDemand) t.match(services[name]?.image, /:v?\d+\.\d+\.\d+$/)
  }
})

t.test('Compose: Prometheus has the configuration and the rules of the examples, and scrapes every node', async (t) => {
  for (const { file, services, nodes } of FILES) {
    for (const [name, { environment }] of nodes) t.equal(environment?.OPS_ADDRESS, '0.0.0.0:9464', `${file}: ${name}`)
    /** The file that it finds in its folder: of two mounts there the last one counts. */
    const mounted = (name: string) => {
      const mounts = services.prometheus?.volumes?.map((mount) => mount.split(':')) ?? []
      return String(mounts.findLast(([, target]) => target === `/etc/prometheus/${name}`)?.[0])
    }
    for (const name of ['prometheus.yml', 'rules.yml']) t.equal(mounted(name), `./examples/prometheus/${name}`, file)
    const scraped = nodes.map(([name]) => `${name}:9464`)
    t.strictSame(parse(read(mounted('targets.yml')))[0].targets, scraped)
  }
})

t.test('Compose: everybody may look at Grafana, and nobody may log in', async (t) => {
  t.match(readCompose('compose.yaml').services.grafana?.environment, {
    GF_AUTH_ANONYMOUS_ENABLED: 'true',
    GF_AUTH_ANONYMOUS_ORG_ROLE: 'Viewer',
    GF_AUTH_BASIC_ENABLED: 'false',
    GF_AUTH_DISABLE_LOGIN_FORM: 'true',
    GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION: 'true',
  })
})
