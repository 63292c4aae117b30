import { execFileSync, spawnSync } from 'node:child_process'
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parseAllDocuments } from 'yaml'
import { readConfig, settings } from '../../src/config.ts'
import { CLOSE_TIMEOUT_MS } from '../../src/server/signals.ts'
import { VERSION } from '../../src/version.ts'
import { needs } from '../support/needs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'
import { ROOT, read as readFile } from './files.ts'

const FOLDER = 'deploy/kubernetes'
const read = (file: string) => readFile(join(FOLDER, file))

/** The kustomizations that can be applied: one for each kind of store. */
const OVERLAYS = ['sqlite', 'postgres']

// kubectl has kustomize in it.
const RENDERERS: [command: string, ...args: string[]][] = [
  ['kubectl', 'kustomize'],
  ['kustomize', 'build'],
]
const renderer = RENDERERS.find(([command]) => !spawnSync(command, ['version', '--help']).error)
const skip = needs('kubectl or kustomize', renderer !== undefined)

const rendered: Record<string, string> = {}

/** What `kubectl apply -k` would send to the cluster, as YAML. */
function render(overlay: string): string {
  const [command, ...args] = renderer as [string, ...string[]]
  rendered[overlay] ??= execFileSync(command, [...args, join(ROOT, FOLDER, overlay)], { encoding: 'utf8' })
  return rendered[overlay]
}

/** A test of the rule with the objects of each overlay, and the one that makes pods. */
function testEach(
  rule: string,
  run: (t: Test, objects: KubernetesObject[], workload: KubernetesObject, overlay: string) => unknown,
  overlays = OVERLAYS,
): void {
  for (const overlay of overlays) {
    t.test(`Kubernetes, ${overlay}: ${rule}`, { skip }, async (t) => {
      const objects = objectsOf(render(overlay))
      const workload = find(objects, 'StatefulSet') ?? find(objects, 'Deployment')
      await run(t, objects, workload as KubernetesObject, overlay)
    })
  }
}

type Labels = Record<string, string>
type Probe = { httpGet: { path: string; port: string } }

interface Container extends Record<'startupProbe' | 'readinessProbe' | 'livenessProbe', Probe> {
  image: string
  ports: { name: string; containerPort: number }[]
  volumeMounts: { mountPath: string; readOnly?: boolean; name: string }[]
  lifecycle?: { preStop: { sleep: { seconds: number } } }
  securityContext: object
}

interface Pod {
  terminationGracePeriodSeconds: number
  containers: [Container]
  volumes?: { name: string; secret?: { defaultMode: number } }[]
}

/** An object of Kubernetes, as far as the tests look at it. */
interface KubernetesObject {
  kind: string
  metadata: { name: string; labels?: Labels }
  data: Record<string, string>
  spec: Pod & {
    replicas: number
    selector: { matchLabels: Labels } & Labels
    podSelector: { matchLabels: Labels }
    podMetricsEndpoints: { port: string }[]
    jobLabel: string
    template: { metadata: { labels: Labels }; spec: Pod }
    volumeClaimTemplates: { metadata: { name: string }; spec: { accessModes: string[] } }[]
    ports: { targetPort: string }[]
    ingress: { ports: { port: string }[]; from: { namespaceSelector: { matchLabels: Labels } }[] }[]
    egress: { ports: { port: number }[] }[]
  }
}

const objectsOf = (text: string): KubernetesObject[] => parseAllDocuments(text).map((document) => document.toJS())
const find = (objects: KubernetesObject[], kind: string) => objects.find((object) => object.kind === kind)

/** The pod for a restore, which no overlay has in it. */
const [restore] = objectsOf(read('sqlite/restore.yaml')) as [KubernetesObject]
const [podMonitor] = objectsOf(read('prometheus-operator/pod-monitor.yaml')) as [KubernetesObject]

const validator = 'kubernetes-validate'
const VALIDATED = { skip: skip || needs(validator) }

t.test('Kubernetes: every object fits the schemas, without a field that these do not know', VALIDATED, async (t) => {
  const file = join(temporaryFolder(t), 'objects.yaml')
  const all = [...OVERLAYS.map(render), read('sqlite/restore.yaml')].join('\n---\n')
  writeFileSync(file, all)
  for (const version of ['1.30', '1.37']) {
    const { status, stdout, stderr } = spawnSync(validator, ['--strict', '-k', version, file], { encoding: 'utf8' })
    t.equal(status, 0, `${version}: ${stdout}${stderr}`)
    t.equal(stdout.match(/ passed /g)?.length, objectsOf(all).length, version)
  }
})

const HELM = { skip: skip || needs('helm') }

t.test('Helm: the chart makes the objects of the kustomizations, in this version', HELM, async (t) => {
  const helm = (...args: string[]) => execFileSync('helm', args, { cwd: join(ROOT, FOLDER), encoding: 'utf8' })
  helm('lint', '--strict', '.')
  t.match(read('Chart.yaml'), `version: ${VERSION}\nappVersion: ${VERSION}\n`)
  const chart = (...args: string[]) => helm('template', 'any-name', '.', '--kube-version=1.30', ...args)
  const databaseUrl = /DATABASE_URL=.+/.exec(read('postgres/settings.env'))?.[0]
  const postgres = ['--set=store=postgres', `--set=settings.${databaseUrl}`]
  for (const [overlay, args] of Object.entries({ sqlite: [], postgres: postgres })) {
    t.strictSame(comparable(chart(...args)), comparable(render(overlay)), overlay)
  }
  const objects = objectsOf(chart('--set=ingress.enabled=true,storage.className=fast'))
  t.match(find(objects, 'Ingress')?.spec, { tls: [{ secretName: 'token-server-tls' }] })
  t.match(find(objects, 'StatefulSet')?.spec.volumeClaimTemplates, [{ spec: { storageClassName: 'fast' } }])
  const values = join(temporaryFolder(t), 'values.yaml')
  writeFileSync(values, '{settings: {HANDOVER: on, TOKEN_QUOTA: 5000000}, ingress: {enabled: true}}')
  const changed = chart('--values', values)
  t.match(find(objectsOf(changed), 'ConfigMap')?.data, { HANDOVER: 'on', TOKEN_QUOTA: '5000000', TRUST_PROXY: 'off' })
  t.match(changed, 'path: /hand-over')
})

t.test('Helm: the schema of the values has every setting', async (t) => {
  const { properties } = JSON.parse(read('values.schema.json'))
  t.strictSame(Object.keys(properties.settings.properties), Object.keys(settings))
})

t.test('Helm: a wrong value is refused', HELM, async (t) => {
  for (const [wrong, message] of [
    ['store=mysql', /store/],
    ['store=postgres', /settings.*DATABASE_URL/],
    ['replica=5', /replica/],
    ['replicas=0', /replicas/],
    ['replicas=many', /replicas/],
    ['settings.PUBLIC_ULR=https://auth.example', /settings.*PUBLIC_ULR/],
    ['settings.PUBLIC_URL.a=b', /settings.*PUBLIC_URL/],
    ['storage.size=5GB', /storage.*size/],
    ['ingress.enabled=yes', /ingress.*enabled/],
    ['image=', /image/],
  ] as const) {
    for (const command of [['template', 'any-name'], ['lint']]) {
      const args = [...command, join(ROOT, FOLDER), `--set=${wrong}`]
      const { status, stdout, stderr } = spawnSync('helm', args, { encoding: 'utf8' })
      t.equal(status, 1, wrong)
      t.match(stdout + stderr, /values don't meet the specifications of the schema/, wrong)
      t.match(stdout + stderr, message, wrong)
    }
  }
})

/** Objects in an order of their own, without what makes new pods for new settings: Helm an annotation, kustomize a name. */
function comparable(text: string): KubernetesObject[] {
  const objects = objectsOf(text.replace(/(token-server-settings)-\w+/g, '$1'))
  for (const { spec } of objects) if (spec?.template) Object.assign(spec.template.metadata, { annotations: null })
  const nameOf = ({ kind, metadata }: KubernetesObject) => `${kind} ${metadata.name}`
  return objects.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1))
}

testEach("the image is that of this program's version, as the README makes it", (t, _, { spec }, overlay) => {
  const { image } = spec.template.spec.containers[0]
  t.match(image, new RegExp(`:v${RegExp.escape(VERSION)}$`))
  if (overlay === 'sqlite') t.equal(restore.spec.containers[0].image, image)
  t.strictSame(new Set(read('README.md').match(/(?<=\/token-server:)\S+/g)), new Set([`v${VERSION}`]))
})

testEach('the operator gives the pods the job that the alerts know', (t, _, { spec }) => {
  t.match(spec.template.metadata.labels[podMonitor.spec.jobLabel], /^token-server/)
})

testEach('what selects pods selects these, and the ports that it names are there', (t, objects, workload) => {
  const { metadata, spec } = workload.spec.template
  const names = spec.containers[0].ports.map(({ name }) => name)
  for (const object of [...objects, podMonitor].filter(({ spec }) => spec)) {
    const name = `${object.kind} ${object.metadata.name}`
    t.ok(selects(object, metadata.labels), name)
    t.notOk(selects(object, restore.metadata.labels), `${name}: the pod for a restore`)
    for (const port of portsOf(object)) t.ok(names.includes(port), `${name}: ${port}`)
  }
})

function selects({ spec }: KubernetesObject, labels: Labels = {}): boolean {
  const selector = spec.podSelector?.matchLabels ?? spec.selector.matchLabels ?? spec.selector
  return Object.entries(selector).every(([name, value]) => labels[name] === value)
}

/** The ports of pods that an object names. */
function portsOf({ spec: { ports = [], podMetricsEndpoints = [], ingress = [] } }: KubernetesObject): string[] {
  return [
    ...ports.map(({ targetPort }) => targetPort),
    ...[...podMetricsEndpoints, ...ingress.flatMap(({ ports }) => ports)].map(({ port }) => port),
  ]
}

testEach('only chosen namespaces may connect, gateways not to the port for operators', (t, objects) => {
  const rules = objects.flatMap(({ kind, spec }) => (kind === 'NetworkPolicy' ? (spec.ingress ?? []) : []))
  const allowed = rules.map(({ ports, from }) => ({
    ports: ports.map(({ port }) => port),
    from: from.map((peer) => Object.keys(peer.namespaceSelector.matchLabels)),
  }))
  t.strictSame(allowed, [
    { ports: ['http'], from: [['token-server/public']] },
    { ports: ['ops'], from: [['token-server/ops']] },
  ])
})

testEach(
  'there is one pod, alone on its volume, and it may be moved',
  (t, objects, { kind, metadata, spec }) => {
    t.strictSame([kind, spec.replicas], ['StatefulSet', 1])
    const [claim] = spec.volumeClaimTemplates
    t.strictSame(claim?.spec.accessModes, ['ReadWriteOncePod'])
    t.equal(find(objects, 'PodDisruptionBudget'), undefined)
    t.match(restore.spec, {
      volumes: [{ persistentVolumeClaim: { claimName: `${claim?.metadata.name}-${metadata.name}-0` } }],
    })
    for (const { spec } of objects.filter(({ kind }) => kind === 'NetworkPolicy')) t.strictSame(spec.egress, [])
  },
  ['sqlite'],
)

testEach(
  'one pod at a time goes, after the one that takes its place',
  (t, objects, { kind, spec }) => {
    t.equal(kind, 'Deployment')
    t.ok(spec.replicas > 1)
    t.match(spec, { strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } } })
    const budget = find(objects, 'PodDisruptionBudget')
    t.match(budget, { spec: { maxUnavailable: 1, unhealthyPodEvictionPolicy: 'AlwaysAllow' } })
    const egress = objects.flatMap(({ kind, spec }) => (kind === 'NetworkPolicy' ? spec.egress : []))
    const ports = egress.flatMap(({ ports }) => ports.map(({ port }) => port))
    t.strictSame(ports, [53, 53, 5432])
  },
  ['postgres'],
)

const dockerfile = readFile('Dockerfile')

/** What the image sets. */
const IMAGE = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = '']) => line.split(' ').map((pair) => pair.split('='))),
) as Record<string, string>

testEach('the server, or a pod for a restore, has no rights, and writes to its volume only', (t, _, { spec }) => {
  assertLockedDown(t, spec.template.spec)
  assertLockedDown(t, restore.spec)
})

/** What the restricted Pod Security Standard asks for, and more. */
function assertLockedDown(t: Test, pod: Pod): void {
  const id = Number(/--chown=(\d+)/.exec(dockerfile)?.[1])
  const user = { runAsNonRoot: true, runAsUser: id, runAsGroup: id, fsGroup: id }
  t.match(pod, {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: { ...user, seccompProfile: { type: 'RuntimeDefault' } },
    containers: [{ resources: { requests: { cpu: String, memory: String }, limits: { memory: String } } }],
  })
  t.equal(pod.containers.length, 1)
  const [{ securityContext, volumeMounts }] = pod.containers
  const expected = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
  t.strictSame(securityContext, expected)
  const writable = volumeMounts.filter(({ readOnly, mountPath }) => !readOnly && mountPath !== '/data')
  t.strictSame(writable, [])
}

testEach('ports are those that the server listens on', (t, _, { spec }) => {
  const { ports } = spec.template.spec.containers[0]
  const [, opsPort] = (IMAGE.OPS_ADDRESS ?? '').split(':')
  t.strictSame(ports, [
    { name: 'http', containerPort: Number(settings.PORT.default) },
    { name: 'ops', containerPort: Number(opsPort) },
  ])
  t.equal(IMAGE.HOST, '0.0.0.0')
  t.match(dockerfile, new RegExp(`^EXPOSE ${settings.PORT.default}$`, 'm'), 'the other has no password')
})

testEach('liveness never depends on the store, readiness does', async (t, _, { spec }) => {
  const { startupProbe, readinessProbe, livenessProbe } = spec.template.spec.containers[0]
  const probes = [startupProbe, readinessProbe, livenessProbe]
  const ports = probes.map(({ httpGet }) => httpGet.port)
  t.strictSame(ports, ['http', 'http', 'ops'])
  const file = join(temporaryFolder(t), 'store.db')
  const { app } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const answers = () => Promise.all(probes.map(async ({ httpGet }) => (await app.inject(httpGet.path)).statusCode))
  t.strictSame(await answers(), [200, 200, 200])
  renameSync(file, `${file}.gone`)
  t.strictSame(await answers(), [200, 503, 200])
})

testEach('a pod is killed later than the server ends by itself', (t, _, { spec }) => {
  const { terminationGracePeriodSeconds, containers } = spec.template.spec
  const seconds = containers[0].lifecycle?.preStop.sleep.seconds ?? 0
  t.ok(terminationGracePeriodSeconds > seconds + CLOSE_TIMEOUT_MS / 1000)
})

testEach('the settings are right, and the files that they name are on volumes', (t, objects, { spec }, overlay) => {
  const data = find(objects, 'ConfigMap')?.data ?? {}
  for (const name of Object.keys(data)) t.ok(name in settings, name)
  const { DATABASE_URL } = readConfig({ ...IMAGE, ...data })
  t.equal(DATABASE_URL.kind, overlay)
  const { containers, volumes = [] } = spec.template.spec
  const { volumeMounts } = containers[0]
  const file = DATABASE_URL.kind === 'sqlite' ? DATABASE_URL.file : String(DATABASE_URL.passwordFile)
  const mount = volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`))
  t.ok(mount, file)
  if (DATABASE_URL.kind === 'sqlite') return
  t.equal(DATABASE_URL.password, undefined)
  t.equal(volumes.find(({ name }) => name === mount?.name)?.secret?.defaultMode, 0o440)
})
