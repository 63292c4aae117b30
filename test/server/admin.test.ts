import { existsSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config.ts'
import { OperatorError } from '../../src/domain/operator-error.ts'
import { startAdmin } from '../../src/server/admin.ts'
import { createServerFigures } from '../../src/server/server-figures.ts'
import { createNumbers } from '../../src/telemetry/metrics/numbers.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
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

t.test('Admin: an address that is taken is an OperatorError', async (t) => {
  const { address } = await start(t, { ADMIN_ADDRESS: '127.0.0.1:0' })
  await t.rejects(start(t, { ADMIN_ADDRESS: String(address).replace('http://', '') }), OperatorError)
})

t.test('Admin: if it is off, nothing listens', async (t) => {
  const { address, close } = await start(t, {})
  t.equal(address, undefined)
  await close()
})
