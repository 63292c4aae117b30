import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig, settings } from '../../src/config.ts'
import { CLOSE_TIMEOUT_MS } from '../../src/server/signals.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld } from '../support/world.ts'
import { FOLDER, find, type Pod, restore, testEach, workloadOf } from './kubernetes.ts'

const dockerfile = readFileSync(join(FOLDER, '../../Dockerfile'), 'utf8')

/** What the image sets. */
const IMAGE = Object.fromEntries(
  [...dockerfile.matchAll(/^ENV (.+)$/gm)].flatMap(([, line = '']) => line.split(' ').map((pair) => pair.split('='))),
) as Record<string, string>

t.test('Kubernetes: a pod for a restore is as locked down as the server', async (t) => {
  assertLockedDown(t, restore.spec)
})

testEach('Kubernetes: the server has no rights, and writes to its volume only', (t, objects) => {
  assertLockedDown(t, workloadOf(objects).spec.template.spec)
})

/** What the restricted Pod Security Standard asks for, and more. */
function assertLockedDown(t: Test, pod: Pod): void {
  const [, user] = /--chown=(\d+)/.exec(dockerfile) ?? []
  const id = Number(user)
  t.match(pod, { automountServiceAccountToken: false, enableServiceLinks: false })
  t.match(pod.securityContext, {
    runAsNonRoot: true,
    runAsUser: id,
    runAsGroup: id,
    fsGroup: id,
    seccompProfile: { type: 'RuntimeDefault' },
  })
  t.equal(pod.containers.length, 1)
  const [{ securityContext, resources, volumeMounts }] = pod.containers
  const expected = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
  t.strictSame(securityContext, expected)
  t.match(resources, { requests: { cpu: String, memory: String }, limits: { memory: String } })
  t.strictSame(
    volumeMounts
      .filter(({ readOnly }) => !readOnly)
      .map(({ mountPath }) => mountPath)
      .filter((path) => path !== '/data'),
    [],
  )
}

testEach('Kubernetes: ports are those that the server listens on', (t, objects) => {
  const { ports } = workloadOf(objects).spec.template.spec.containers[0]
  const [, opsPort] = (IMAGE.OPS_ADDRESS ?? '').split(':')
  t.strictSame(ports, [
    { name: 'http', containerPort: Number(settings.PORT.default) },
    { name: 'ops', containerPort: Number(opsPort) },
  ])
  t.equal(IMAGE.HOST, '0.0.0.0')
  t.match(dockerfile, new RegExp(`^EXPOSE ${settings.PORT.default}$`, 'm'), 'the other has no password')
})

testEach('Kubernetes: liveness never depends on the store, readiness does', async (t, objects) => {
  const { startupProbe, readinessProbe, livenessProbe } = workloadOf(objects).spec.template.spec.containers[0]
  const probes = [startupProbe, readinessProbe, livenessProbe]
  t.strictSame(
    probes.map(({ httpGet }) => httpGet.port),
    ['http', 'http', 'ops'],
  )

  const file = join(temporaryFolder(t), 'store.db')
  const { app } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const answers = () => Promise.all(probes.map(async ({ httpGet }) => (await app.inject(httpGet.path)).statusCode))
  t.strictSame(await answers(), [200, 200, 200])
  renameSync(file, `${file}.gone`)
  t.strictSame(await answers(), [200, 503, 200])
})

testEach('Kubernetes: a pod is killed later than the server ends by itself', (t, objects) => {
  const { terminationGracePeriodSeconds, containers } = workloadOf(objects).spec.template.spec
  const seconds = containers[0].lifecycle?.preStop.sleep.seconds ?? 0
  t.ok(terminationGracePeriodSeconds > seconds + CLOSE_TIMEOUT_MS / 1000)
})

testEach('Kubernetes: the settings are right, and the files that they name are on volumes', (t, objects, overlay) => {
  const data = find(objects, 'ConfigMap')?.data ?? {}
  t.strictSame(
    Object.keys(data).filter((name) => !(name in settings)),
    [],
  )
  const { DATABASE_URL } = readConfig({ ...IMAGE, ...data })
  t.equal(DATABASE_URL.kind, overlay)
  const { containers, volumes = [] } = workloadOf(objects).spec.template.spec
  const { volumeMounts } = containers[0]
  const file = DATABASE_URL.kind === 'sqlite' ? DATABASE_URL.file : String(DATABASE_URL.passwordFile)
  const mount = volumeMounts.find(({ mountPath }) => file.startsWith(`${mountPath}/`))
  t.ok(mount, file)
  if (DATABASE_URL.kind === 'sqlite') return
  t.equal(DATABASE_URL.password, undefined)
  t.equal(volumes.find(({ name }) => name === mount?.name)?.secret?.defaultMode, 0o440)
})
