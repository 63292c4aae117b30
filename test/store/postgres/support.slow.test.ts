import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import pg from 'pg'
import t, { type Test } from 'tap'
import { DEBIAN_BINARIES } from '../../support/postgres/binaries.ts'
import { query } from '../../support/postgres/databases.ts'
import { startDatabases, startPair, startPostgres } from '../../support/postgres/postgres.ts'
import { isAlive } from '../../support/postgres/processes.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { until } from '../../support/until.ts'

const server = await startPostgres(t)

/** A connection that ends with the test. */
async function dial(t: Test, connectionString: string) {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 5000 })
  client.on('error', () => {})
  await client.connect()
  t.teardown(() => client.end().catch(() => {}))
  return client
}

/** Whether a promise is still pending after a while. */
async function hangs(promise: Promise<unknown>): Promise<boolean> {
  const timer = new Promise<'late'>((resolve) => setTimeout(resolve, 300, 'late'))
  return (await Promise.race([promise.catch(() => {}), timer])) === 'late'
}

t.test('A test server: databases are apart, and their owner has no other rights', async (t) => {
  const { createDatabase } = await startDatabases()
  const [one, two] = await Promise.all([createDatabase(), createDatabase()])
  await query(one, 'CREATE TABLE things (id int)')
  await t.rejects(query(two, 'SELECT FROM things'), { code: '42P01' })
  const [role] = await query(one, 'SELECT rolsuper, rolcreatedb FROM pg_roles WHERE rolname = current_user')
  t.same(role, { rolsuper: false, rolcreatedb: false })
  const wrong = new URL(one)
  wrong.password = 'wrong'
  await t.rejects(query(wrong.href, 'SELECT'), { code: '28P01' })
})

t.test('A test server: settings are its own, and it syncs only what is durable', async (t) => {
  const durable = await startPostgres(t, { durable: true, settings: { max_connections: '12' } })
  t.same(await durable.query('SHOW max_connections'), [{ max_connections: '12' }])
  t.same(await durable.query('SHOW fsync'), [{ fsync: 'on' }])
  t.same(await server.query('SHOW fsync'), [{ fsync: 'off' }])
})

t.test('A test server: where Debian has one it runs, too', { skip: !DEBIAN_BINARIES }, async (t) => {
  const debian = await startPostgres(t, { binaries: DEBIAN_BINARIES as string })
  t.equal(DEBIAN_BINARIES?.split('/')[4], (await debian.query('SHOW server_version'))[0].server_version.split('.')[0])
})

t.test('A test server: what was committed is there after a kill and a start', async (t) => {
  const server = await startPostgres(t)
  const url = await server.createDatabase()
  await query(url, 'CREATE TABLE things (id int)')
  const client = await dial(t, url)
  await server.kill()
  await t.rejects(client.query('SELECT'))
  await t.rejects(query(url, 'SELECT'), { code: 'ECONNREFUSED' })
  await server.start()
  t.same(await query(url, 'SELECT FROM things'), [])
  await server.kill('SIGINT')
  await server.start()
  t.same(await query(url, 'SELECT FROM things'), [])
})

t.test('A test server: one that is suspended answers when it is resumed', async (t) => {
  const server = await startPostgres(t)
  const client = await dial(t, server.url())
  server.suspend()
  const answer = client.query('SELECT 1 AS one')
  t.ok(await hangs(answer))
  server.resume()
  t.same((await answer).rows, [{ one: 1 }])
})

t.test('A test server: it and its data end with the process that started it, also when that is killed', async (t) => {
  const module = join(import.meta.dirname, '../../support/postgres/server.ts')
  const program = `
    const { runPostgres } = await import(${JSON.stringify(module)})
    const server = await runPostgres()
    server.suspend()
    console.log(JSON.stringify({ pid: server.pid(), data: server.data }))
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [line] = await once(createInterface(child.stdout), 'line')
  const { pid, data } = JSON.parse(line)
  t.ok(isAlive(pid))
  child.kill('SIGKILL')
  await until(() => !isAlive(pid) && !existsSync(data))
})

t.test('A test pair: a commit waits for the standby, and is there after a kill and a promotion', async (t) => {
  const pair = await startPair(t)
  const url = await pair.primary.createDatabase()
  t.match(pair.both(url), `@127.0.0.1:${pair.primary.port},127.0.0.1:${pair.standby.port}/`)
  await query(url, 'CREATE TABLE things (id int)')
  const client = await dial(t, url)

  pair.standby.suspend()
  const first = client.query('INSERT INTO things VALUES (1)')
  t.ok(await hangs(first))
  pair.standby.resume()
  await first

  pair.network.swallow()
  const second = client.query('INSERT INTO things VALUES (2)')
  t.ok(await hangs(second))
  await pair.network.heal()
  await second

  await pair.primary.kill()
  await pair.promote()
  const there = url.replace(String(pair.primary.port), String(pair.standby.port))
  t.same(await query(there, 'SELECT id FROM things ORDER BY id'), [{ id: 1 }, { id: 2 }])
  await query(there, 'INSERT INTO things VALUES (3)')
})

t.test('A test network: swallowed bytes arrive when it heals', async (t) => {
  const proxy = await startProxy(t, server.port)
  const client = await dial(t, proxy.through(server.url()))
  const statements = async () => (await server.query("SELECT FROM pg_stat_activity WHERE query = 'SELECT 77'")).length
  proxy.swallow()
  const answer = client.query('SELECT 77')
  t.ok(await hangs(answer))
  t.equal(await statements(), 0)
  t.ok(await hangs(dial(t, proxy.through(server.url()))))
  await proxy.heal()
  await answer
  t.equal(await statements(), 1)
})

t.test('A test network: where answers are swallowed the server does what it is told', async (t) => {
  const proxy = await startProxy(t, server.port)
  const url = await server.createDatabase()
  await query(url, 'CREATE TABLE things (id int)')
  const client = await dial(t, proxy.through(url))
  proxy.swallowAnswers()
  const answer = client.query('INSERT INTO things VALUES (1)')
  await until(async () => (await query(url, 'SELECT FROM things')).length === 1)
  t.ok(await hangs(answer))
  proxy.cut()
  await t.rejects(answer)
})

t.test('A test network: connections that are cut or refused are errors, until it heals', async (t) => {
  const proxy = await startProxy(t, server.port)
  const url = proxy.through(server.url())
  const client = await dial(t, url)
  t.equal(proxy.connections(), 1)
  const answer = client.query('SELECT pg_sleep(60)')
  proxy.cut()
  await t.rejects(answer, { code: 'ECONNRESET' })
  const another = await dial(t, url)
  await proxy.refuse()
  await t.rejects(another.query('SELECT'))
  await t.rejects(query(url, 'SELECT'), { code: 'ECONNREFUSED' })
  await proxy.heal()
  await query(url, 'SELECT')
})
