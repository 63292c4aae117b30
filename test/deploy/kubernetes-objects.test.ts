import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { VERSION } from '../../src/version.ts'
import { needs } from '../support/needs.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import {
  FOLDER,
  find,
  type KubernetesObject,
  type Labels,
  noRenderer,
  OVERLAYS,
  objectsOf,
  render,
  restore,
  testEach,
  workloadOf,
} from './kubernetes.ts'

const [podMonitor] = objectsOf(readFileSync(join(FOLDER, 'prometheus-operator/pod-monitor.yaml'), 'utf8')) as [
  KubernetesObject,
]

const validator = 'kubernetes-validate'
const noValidator = needs(validator)

for (const version of ['1.30', '1.37']) {
  const rule = `Kubernetes: every object fits the schemas of ${version}, without a field that these do not know`
  t.test(rule, { skip: noRenderer || noValidator }, async (t) => {
    const file = join(temporaryFolder(t), 'objects.yaml')
    const pod = readFileSync(join(FOLDER, 'sqlite/restore.yaml'), 'utf8')
    writeFileSync(file, [...OVERLAYS.map(render), pod].join('\n---\n'))
    const { status, stdout, stderr } = spawnSync(validator, ['--strict', '-k', version, file], { encoding: 'utf8' })
    t.equal(status, 0, `${stdout}${stderr}`)
    t.equal(stdout.match(/ passed /g)?.length, objectsOf(readFileSync(file, 'utf8')).length)
  })
}

testEach("Kubernetes: the image is that of this program's version", (t, objects, overlay) => {
  const { image } = workloadOf(objects).spec.template.spec.containers[0]
  t.match(image, new RegExp(`:v${RegExp.escape(VERSION)}$`))
  if (overlay === 'sqlite') t.equal(restore.spec.containers[0].image, image)
})

t.test("Kubernetes: the image that the README makes is that of this program's version", async (t) => {
  const images = readFileSync(join(FOLDER, 'README.md'), 'utf8').match(/(?<=\/token-server:)\S+/g)
  t.strictSame(new Set(images), new Set([`v${VERSION}`]))
})

testEach('Kubernetes: the operator gives the pods the job that the alerts know', (t, objects) => {
  const { labels = {} } = workloadOf(objects).spec.template.metadata
  t.match(labels[podMonitor.spec.jobLabel], /^token-server/)
})

testEach('Kubernetes: what selects pods selects these, and the ports that it names are there', (t, objects) => {
  const { metadata, spec } = workloadOf(objects).spec.template
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

testEach('Kubernetes: only chosen namespaces may connect, gateways not to the port for operators', (t, objects) => {
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

t.test(
  'Kubernetes: on SQLite there is one pod, alone on its volume, and it may be moved',
  { skip: noRenderer },
  async (t) => {
    const objects = objectsOf(render('sqlite'))
    const { kind, metadata, spec } = workloadOf(objects)
    t.equal(kind, 'StatefulSet')
    t.equal(spec.replicas, 1)
    const [claim] = spec.volumeClaimTemplates
    t.strictSame(claim?.spec.accessModes, ['ReadWriteOncePod'])
    t.equal(find(objects, 'PodDisruptionBudget'), undefined)
    t.match(restore.spec, {
      volumes: [{ persistentVolumeClaim: { claimName: `${claim?.metadata.name}-${metadata.name}-0` } }],
    })
    for (const { spec } of objects.filter(({ kind }) => kind === 'NetworkPolicy')) t.strictSame(spec.egress, [])
  },
)

t.test(
  'Kubernetes: on PostgreSQL one pod at a time goes, after the one that takes its place',
  { skip: noRenderer },
  async (t) => {
    const objects = objectsOf(render('postgres'))
    const { kind, spec } = workloadOf(objects)
    t.equal(kind, 'Deployment')
    t.ok(spec.replicas > 1)
    t.match(spec.strategy, { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } })
    t.match(find(objects, 'PodDisruptionBudget')?.spec, {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    })
    const egress = objects.flatMap(({ kind, spec }) => (kind === 'NetworkPolicy' ? spec.egress : []))
    t.strictSame(
      egress.flatMap(({ ports }) => ports.map(({ port }) => port)),
      [53, 53, 5432],
    )
  },
)
