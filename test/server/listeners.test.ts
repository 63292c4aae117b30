import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import type { Event } from '../../src/domain/events.ts'
import type { ServerNode } from '../../src/domain/statistics.ts'
import type { Nodes, Store } from '../../src/domain/store.ts'
import type { Listener } from '../../src/ops/listener.ts'
import { startAdmin } from '../../src/server/admin.ts'
import { openCertificates } from '../../src/server/certificates.ts'
import { createControlPlane } from '../../src/server/control-plane.ts'
import { createServerFigures } from '../../src/server/figures.ts'
import { listenAndServe } from '../../src/server/listen.ts'
import { startOps } from '../../src/server/ops.ts'
import { startPresence, startStatistics } from '../../src/server/statistics.ts'
import { createTelemetry } from '../../src/server/telemetry.ts'
import { openStore } from '../../src/store/open.ts'
import { createCounters } from '../../src/telemetry/metrics/counters.ts'
import { VERSION } from '../../src/version.ts'
import { locationOf } from '../support/postgres/location.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { parseMetrics } from '../support/scrape.ts'
import { serverNode } from '../support/server-node.ts'
import { until } from '../support/until.ts'
import { createWorld, createWorldWithFile } from '../support/world.ts'

const { createDatabase } = await startDatabases()

/** None. */
const certificates = await openCertificates(readConfig({}), { observe: () => {} })

t.test('Listening: usage and refusals that cannot be stored at the end are reported', async (t) => {
  const { store, credentials, other } = await createWorldWithFile(t)
  for (const table of ['refusals', 'token_counts']) {
    other.exec(`CREATE TRIGGER ${table}_fails BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'full'); END`)
  }
  const events: Event[] = []
  const observe = (event: Event) => void events.push(event)
  const telemetry = { observe, observeDetails: undefined, measure: undefined }
  for (const [FAILURE_LIMIT, last] of Object.entries({ on: 429, off: 401 })) {
    events.length = 0
    const { app, address } = await listenAndServe(store, telemetry, readConfig({ PORT: '0', FAILURE_LIMIT }))
    t.teardown(() => app.close())
    const issue = async (client_secret = credentials.client_secret) => {
      const init = { method: 'POST', body: new URLSearchParams({ ...credentials, client_secret }) }
      return (await fetch(`${address}/v1/oauth/accesstoken`, init)).status
    }
    t.equal(await issue(), 200)
    for (let n = 0; n < 10; n++) t.equal(await issue('wrong'), 401)
    t.equal(await issue('wrong'), last, `FAILURE_LIMIT=${FAILURE_LIMIT}`)
    await app.close()
    for (const type of ['usage not recorded', 'refusals not recorded']) {
      const told = events.filter((event) => event.type === type)
      t.match(told, [{ err: { name: 'StoreUnavailable' } }], type)
    }
  }
})

/** A port for operators at an address that the system chooses, and what it knows of the server. */
async function startOpsHere(t: Test) {
  const serving = { count: 0 }
  const counters = createCounters()
  const figures = createServerFigures(counters, { expected: 2, serving: () => serving.count })
  const ops = await startOps(readConfig({ OPS_ADDRESS: '127.0.0.1:0' }), { figures, observe: () => {}, certificates })
  const { address, close } = ops as Listener
  t.teardown(close)
  const scrape = async () => parseMetrics(await (await fetch(`${address}/metrics`)).text())
  return { address, serving, counters, scrape, watch: figures.storeFigures.open, join: figures.fleet.join }
}

t.test('Ops: it is live at once, and ready when workers serve and the store can be used', async (t) => {
  const { store } = await createWorld(t)
  const { address, serving, watch } = await startOpsHere(t)
  const health = async (path: string) => {
    const answer = await fetch(`${address}/health/${path}`)
    return [answer.status, await answer.json()]
  }
  const broken = { status: 'unavailable', issuing: 'unavailable', checks: 'unavailable' }
  t.strictSame(await health('live'), [200, { status: 'ok' }])
  for (serving.count of [0, 1]) {
    const others = { changes: 'unavailable', sign_in: 'unavailable', problem: /^The database is not open yet/ }
    t.match(await health('ready'), [503, { ...broken, ...others }])
  }
  watch(store)
  t.strictSame(await health('ready'), [200, { status: 'ok' }])
  serving.count = 0
  const operators = { changes: 'ok', sign_in: 'ok', problem: 'No process answers requests.' }
  t.strictSame(await health('ready'), [503, { ...broken, ...operators }])
  serving.count = 1
  watch({ ...store, ping: () => Promise.reject(new Error('the disk is full')) })
  const full = { changes: 'unavailable', sign_in: 'unavailable', problem: 'The disk is full.' }
  t.strictSame(await health('ready'), [503, { ...broken, checks: 'ok', ...full }])
})

t.test('Ops: metrics describe the store, the server, and each process that answers requests', async (t) => {
  const { store } = await createWorld(t)
  const { address, watch, join, serving, scrape } = await startOpsHere(t)
  watch(store)
  serving.count = 1
  const [first, second] = [join(), join()]
  const load = { requestsInFlight: 1, connections: 2, scryptRunning: 3, scryptWaiting: 4 }
  const sample = { ...load, cpuSeconds: 5, residentBytes: 6, lagSeconds: 7 }
  first.take({ counted: [], sample })
  second.take({ counted: [], sample: { ...sample, residentBytes: 60 } })
  t.match(Object.fromEntries(await scrape()), {
    ...{ store_up: 1, workers: 1, workers_expected: 2 },
    ...{ http_requests_in_flight: 2, connections: 4, scrypt_running: 6, scrypt_waiting: 8 },
    'worker_cpu_seconds_total{worker="1"}': 5,
    'worker_resident_memory_bytes{worker="2"}': 60,
    'worker_event_loop_lag_seconds{worker="2"}': 7,
    [`build_info{version="${VERSION}",node="${process.versions.node}",store="sqlite"}`]: 1,
  })
  second.leave()
  const later = await scrape()
  t.equal(later.get('connections'), 2)
  t.notOk(later.has('worker_resident_memory_bytes{worker="2"}'))
  t.equal(later.get('worker_cpu_seconds_total{worker="2"}'), 5)
  const { headers } = await fetch(`${address}/metrics`)
  t.equal(headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8')
  t.equal((await fetch(`${address}/docs`)).status, 200, 'beside the reference of the endpoints')
})

const figures = createServerFigures(createCounters(), { expected: 1, serving: () => 1 })

async function statisticsOf(t: Test, store: Store, name = 'web-1:80') {
  const findTrouble = async () => ({ failing: [], reported: [], refusedChecks: [], removed: [] })
  const statistics = await startStatistics(store, figures, { storeKind: 'sqlite', name, findTrouble, certificates })
  t.teardown(statistics.stop)
  return statistics
}

t.test('Ops and admin: if they are off, or nothing is counted, nothing listens', async (t) => {
  const { store } = await createWorld(t)
  const given = readConfig({ OPS_ADDRESS: '127.0.0.1:0', ADMIN_ADDRESS: '127.0.0.1:0' })
  for (const [config, counted] of [
    [readConfig({}), figures],
    [given, undefined],
  ] as const) {
    const options = {
      store,
      observe: () => {},
      figures: counted,
      certificates,
      statistics: counted && (await statisticsOf(t, store)),
    }
    t.strictSame([await startOps(config, options), await startAdmin(config, options)], [undefined, undefined])
  }
})

async function startAdminHere(t: Test, env: NodeJS.ProcessEnv) {
  const { store } = await createWorld(t)
  const statistics = await statisticsOf(t, store, `${hostname()}:${env.PORT}`)
  const admin = (await startAdmin(readConfig(env), { store, observe: () => {}, statistics, certificates })) as Listener
  t.teardown(admin.close)
  return { ...admin, store, port: new URL(admin.address).port }
}

t.test('Admin: it listens at ADMIN_ADDRESS, accepts that host name, and closes', async (t) => {
  const { address, port, close } = await startAdminHere(t, { ADMIN_ADDRESS: '127.0.0.2:0' })
  t.equal(address, `http://127.0.0.2:${port}`)
  const status = async () => (await fetch(`${address}/admin/v1/applications`)).status
  t.equal(await status(), 401)
  await close()
  await t.rejects(status())
})

t.test('Admin: if it listens on all addresses, none of them is accepted as a host', async (t) => {
  const { port } = await startAdminHere(t, { ADMIN_ADDRESS: '0.0.0.0:0' })
  t.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 401)
  t.equal((await fetch(`http://127.0.0.2:${port}/`)).status, 421)
})

t.test('Admin: with an identity provider, the login page offers it', async (t) => {
  const provider = { OIDC_ISSUER: 'http://localhost:9', OIDC_CLIENT_ID: 'x', OIDC_CLIENT_SECRET_FILE: '/nowhere' }
  const places = { ADMIN_ADDRESS: '127.0.0.1:0', ADMIN_URL: 'http://localhost:1' }
  const { address } = await startAdminHere(t, { ...places, ...provider, OIDC_ADMINS: 'groups=a' })
  t.match(await (await fetch(`${address}/`)).text(), 'href="http://localhost:1/login/provider"')
})

for (const listener of ['ADMIN_ADDRESS', 'OPS_ADDRESS']) {
  t.test(`Nodes on one PostgreSQL know one with ${listener} by host name and port until it ends`, async (t) => {
    const DATABASE_URL = await createDatabase()
    const open = () => openStore(locationOf(DATABASE_URL), { lockTimeout: 5000 })
    const [store, telemetry] = [await open(), createTelemetry('silent', { isTTY: false, counts: true })]
    t.teardown(() => store.close())
    const config = readConfig({ DATABASE_URL, [listener]: '127.0.0.1:0', PORT: '8123' })
    const control = createControlPlane(open, telemetry, config, { expected: 1, serving: () => 1 })
    await control.open()
    const names = async () => (await store.nodes?.list(10))?.map(({ name }) => name)
    await until(async () => (await names())?.length === 1)
    t.strictSame(await names(), [`${hostname()}:8123`])
    await control.abandon()
    t.strictSame(await names(), [])
  })
}

/** The nodes of an empty database, and one that counts its reports. */
async function createNodes(t: Test) {
  const store = await openStore(locationOf(await createDatabase()), { lockTimeout: 5000 })
  t.teardown(() => store.close())
  const nodes = store.nodes as Nodes
  const node = serverNode({ id: randomUUID() })
  let told = 0
  const thisNode = (): ServerNode => ({ ...node, lastMinute: { ...node.lastMinute, tokens: ++told } })
  const reports = async () => (await nodes.list(10)).map(({ lastMinute }) => lastMinute.tokens)
  return { nodes, thisNode, reports }
}

t.test('Presence: a node reports at once and once per interval, and is deleted when it shuts down', async (t) => {
  const { nodes, thisNode, reports } = await createNodes(t)
  const often = startPresence(nodes, thisNode, { interval: 10 })
  await until(async () => Number((await reports())[0]) >= 3)
  await often.stop()
  t.strictSame(await reports(), [])
  const { stop } = startPresence(nodes, thisNode)
  await until(async () => (await reports()).length === 1)
  const first = await reports()
  t.strictSame(await reports(), first)
  await stop()
  t.strictSame(await reports(), [])
})

t.test('Presence: a failed report is repeated at the next interval, and ignored at shutdown', async (t) => {
  const { nodes, thisNode, reports } = await createNodes(t)
  let refusals = 0
  const refuse = async () => {
    refusals++
    throw new Error('away')
  }
  const record: Nodes['record'] = (node) => (refusals < 2 ? refuse() : nodes.record(node))
  const { stop } = startPresence({ ...nodes, record, remove: refuse }, thisNode, { interval: 10 })
  await until(async () => (await reports()).length === 1)
  t.equal(refusals, 2)
  await stop()
  t.equal(refusals, 3)
})

t.test('Presence: a hanging store does not delay shutdown', async (t) => {
  const { nodes, thisNode } = await createNodes(t)
  const { promise: never } = Promise.withResolvers<void>()
  await startPresence({ ...nodes, record: () => never }, thisNode).stop()
  t.pass('it ends')
})
