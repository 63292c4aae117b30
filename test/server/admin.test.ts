import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import type { ServerNode } from '../../src/domain/statistics.ts'
import type { Nodes } from '../../src/domain/store.ts'
import { startAdmin } from '../../src/server/admin.ts'
import { createServerFigures } from '../../src/server/server-figures.ts'
import { startPresence } from '../../src/server/statistics.ts'
import { openStore } from '../../src/store/open.ts'
import { createNumbers } from '../../src/telemetry/metrics/numbers.ts'
import { locationOf } from '../support/postgres/location.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { serverNode } from '../support/server-node.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorld } from '../support/world.ts'

const { createDatabase } = await startDatabases()

async function start(t: Test, env: NodeJS.ProcessEnv) {
  const { store } = await createWorld(t, env.DATABASE_URL ? { databaseUrl: env.DATABASE_URL } : {})
  const figures = createServerFigures(createNumbers(), { expected: 1, serving: () => 1 })
  const admin = await startAdmin(readConfig(env), { store, observe: () => {}, figures })
  t.teardown(admin.close)
  return { ...admin, store }
}

t.test('Admin: it listens at ADMIN_ADDRESS, accepts that host name, and closes', async (t) => {
  const { address, close, store } = await start(t, { ADMIN_ADDRESS: '127.0.0.2:0' })
  t.match(address, /^http:\/\/127\.0\.0\.2:\d+$/)
  const status = async () => (await fetch(`${address}/admin/v1/applications`)).status
  t.equal(await status(), 401)
  await store.findSuite('store')
  await close()
  await t.rejects(status())
})

t.test('Admin: if it listens on all addresses, none of them is accepted as a host', async (t) => {
  const { address } = await start(t, { ADMIN_ADDRESS: '0.0.0.0:0' })
  const { port } = new URL(String(address))
  t.equal((await fetch(`http://127.0.0.1:${port}/`)).status, 401)
  t.equal((await fetch(`http://127.0.0.2:${port}/`)).status, 421)
  await t.rejects(start(t, { ADMIN_ADDRESS: `127.0.0.1:${port}` }), OperatorError, 'it is taken')
})

t.test('Admin: it listens on a Unix socket', async (t) => {
  const socket = join(temporaryFolder(t), 'admin.sock')
  const { address, close } = await start(t, { ADMIN_ADDRESS: `unix:${socket}` })
  t.equal(address, `unix:${socket}`)
  t.ok(existsSync(socket))
  await close()
  t.notOk(existsSync(socket))
})

t.test('Admin: nodes on one PostgreSQL know it by host name and port until it ends', async (t) => {
  const env = { DATABASE_URL: await createDatabase(), ADMIN_ADDRESS: '127.0.0.1:0', PORT: '8123' }
  const { close, store } = await start(t, env)
  const names = async () => (await store.nodes?.list(10))?.map(({ name }) => name)
  await until(async () => (await names())?.length === 1)
  t.strictSame(await names(), [`${hostname()}:8123`])
  await close()
  t.strictSame(await names(), [])
})

t.test('Admin: if it is off, nothing listens', async (t) => {
  const { address, close } = await start(t, {})
  t.equal(address, undefined)
  await close()
})

/** The nodes of an empty database, and one that counts its reports. */
async function open(t: Test) {
  const store = await openStore(locationOf(await createDatabase()), { lockTimeout: 5000 })
  t.teardown(() => store.close())
  const nodes = store.nodes as Nodes
  const node = serverNode({ id: randomUUID() })
  let told = 0
  const thisNode = (): ServerNode => ({ ...node, lastMinute: { ...node.lastMinute, tokens: ++told } })
  const tokens = async () => (await nodes.list(10)).map(({ lastMinute }) => lastMinute.tokens)
  return { nodes, thisNode, tokens }
}

t.test('Presence: a node reports at once and once per interval, and is deleted when it shuts down', async (t) => {
  const { nodes, thisNode, tokens } = await open(t)
  const often = startPresence(nodes, thisNode, { interval: 10 })
  await until(async () => Number((await tokens())[0]) >= 3)
  await often.stop()
  t.strictSame(await tokens(), [])
  const { stop } = startPresence(nodes, thisNode)
  await until(async () => (await tokens()).length === 1)
  const [reports] = await tokens()
  t.strictSame(await tokens(), [reports])
  await stop()
  t.strictSame(await tokens(), [])
})

t.test('Presence: a failed report is repeated at the next interval, and ignored at shutdown', async (t) => {
  const { nodes, thisNode, tokens } = await open(t)
  let refusals = 0
  const refuse = async () => {
    refusals++
    throw new Error('away')
  }
  const record: Nodes['record'] = (node) => (refusals < 2 ? refuse() : nodes.record(node))
  const { stop } = startPresence({ ...nodes, record, remove: refuse }, thisNode, { interval: 10 })
  await until(async () => (await tokens()).length === 1)
  t.equal(refusals, 2)
  await stop()
  t.equal(refusals, 3)
})

t.test('Presence: a hanging store does not delay shutdown', async (t) => {
  const { nodes, thisNode } = await open(t)
  const { promise: never } = Promise.withResolvers<void>()
  await startPresence({ ...nodes, record: () => never }, thisNode).stop()
  t.pass('it ends')
})
