import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import type { PostgresLocation } from '../../../src/domain/database-location.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { unavailable } from '../../../src/store/postgres/explain.ts'
import { openSession } from '../../../src/store/postgres/session.ts'
import { isReady } from '../../support/is-ready.ts'
import { query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'
import { newKey } from '../conformance/harness.ts'

const server = await startDatabases()

async function newLocation() {
  const url = await server.createDatabase()
  return { url, location: locationOf(url) }
}

async function open(t: Test, location: PostgresLocation) {
  const store = await openStore(location, { lockTimeout: 1000 })
  t.teardown(() => store.close())
  return store
}

async function startSession(t: Test) {
  const session = await openSession((await newLocation()).location, {
    monotonic: () => performance.now(),
    observe() {},
  })
  t.teardown(() => session.end(new StoreUnavailable('the test ends') as never))
  return session
}

t.test('A commit with a warning is none, in whatever language the server has its warnings', async (t) => {
  const session = await startSession(t)
  await session.write("DO $$ BEGIN RAISE NOTICE 'all is well'  USING ERRCODE = '00000'; END $$", [])
  // As a German server says it: the severity is a word, and the code is the same everywhere.
  const warning = "DO $$ BEGIN RAISE NOTICE 'WARNUNG: breche Warten ab' USING ERRCODE = '01000'; END $$"
  await t.rejects(session.write(warning, []), { name: 'StoreUnavailable', message: /breche Warten ab/ })
  await t.rejects(session.write('SELECT 1', []), StoreUnavailable, 'and the connection is used no more')
})

t.test('An error that is no end of the connection leaves the session as it is', async (t) => {
  const session = await startSession(t)
  await t.rejects(session.write('SELECT 1 / 0', []), { name: 'StoreUnavailable', code: '22012' })
  await session.write('SELECT 1', [])
})

t.test('What a stranger has sent is in no error', async (t) => {
  const session = await startSession(t)
  const error = await session.write('SELECT $1::uuid', ['hunter2']).catch((error: Error) => error)
  t.match(error, { name: 'StoreUnavailable', message: /error 22P02/ })
  t.notMatch(inspect(error, { depth: null, showHidden: true }), /hunter2/)
})

t.test('A name with several addresses that do not answer: the first one says why, and it is tried again', async (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED ::1:9'), { code: 'ECONNREFUSED', syscall: 'connect' })
  const error = unavailable({ host: 'two.example', port: 9 }, new AggregateError([refused, refused]))
  t.match(error, { message: 'PostgreSQL at two.example:9: connect ECONNREFUSED ::1:9', isWrong: false })
})

t.test('A login that fails leaves no connection behind', async (t) => {
  const { url } = await newLocation()
  const proxy = await startProxy(t, Number(new URL(url).port))
  const location = locationOf(proxy.through(url))
  await t.rejects(open(t, { ...location, password: undefined }), /there is none/)
  await until(() => proxy.connections() === 0)
})

t.test('Settings of a role do not change what is read', async (t) => {
  const { location } = await newLocation()
  const settings = [
    `bytea_output = 'escape'`,
    `default_transaction_isolation = 'serializable'`,
    `timezone = 'Asia/Kolkata'`,
  ]
  for (const setting of settings) await server.query(`ALTER ROLE ${location.user} SET ${setting}`)
  const store = await open(t, location)
  const token = mintToken(await newKey(store, 'a'), Date.now()).stored
  await store.addToken(token)
  t.match(await store.findToken(token.id), { stored: token })
  await store.ping()
})

t.test('A database without its row of changes answers nothing, and says what is missing', async (t) => {
  const { url, location } = await newLocation()
  const store = await open(t, location)
  await query(url, 'DELETE FROM changes')
  await t.rejects(store.findSuite('a'), { name: 'StoreUnavailable', message: /table changes has no row/ })
})

t.test('Two databases never call two states of their registries by one version', async (t) => {
  const versions = await Promise.all(
    [1, 2].map(async () => {
      const { url, location } = await newLocation()
      const store = await open(t, location)
      await newKey(store, 'a')
      return (await query(url, 'SELECT registry FROM changes'))[0].registry as string
    }),
  )
  t.not(versions[0], versions[1])
})

t.test('PGSSLMODE is not asked: TLS is what the URL says', async (t) => {
  const { location } = await newLocation()
  process.env.PGSSLMODE = 'require'
  t.teardown(() => {
    delete process.env.PGSSLMODE
  })
  await (await open(t, location)).ping()
})

/** A database whose role has a function of its own in the place of one of PostgreSQL's. */
async function newLocationWith(definition: string) {
  const { url, location } = await newLocation()
  await server.query(`ALTER ROLE ${location.user} SET search_path = public, pg_catalog`)
  await server.query(definition, location.database)
  return { url, location }
}

t.test('A session with two servers is none', async (t) => {
  const { location } = await newLocationWith(
    "CREATE FUNCTION pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS 'SELECT pg_catalog.clock_timestamp()'",
  )
  await t.rejects(openSession(location, { monotonic: () => performance.now(), observe() {} }), {
    name: 'StoreUnavailable',
    message: /another server has the address now/,
  })
})

t.test('A session ends when its connections lead to another server', async (t) => {
  const { url, location } = await newLocationWith(`
    CREATE TABLE public.started (at timestamptz); INSERT INTO started VALUES ('2026-01-01'); GRANT ALL ON started TO PUBLIC;
    CREATE FUNCTION pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS 'SELECT at FROM public.started'`)
  const session = await openSession(location, { monotonic: () => performance.now(), observe() {} })
  await query(url, "UPDATE started SET at = '2026-01-02'")
  t.match(await session.ended, { message: /another server has the address now/ })
})

t.test('A node whose clock is not that of the database is not ready', async (t) => {
  const { location } = await newLocationWith(
    "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$SELECT pg_catalog.clock_timestamp() + interval '1 hour'$$",
  )
  await server.query('ALTER FUNCTION clock_timestamp() OWNER TO postgres', location.database)
  const store = await openStore({ ...location }, { lockTimeout: 1000 })
  t.teardown(() => store.close())
  await t.rejects(store.ping(), { name: 'StoreUnavailable', message: /are 3[56]\d{5} ms apart/ })
  t.ok((store.clockOffset() as number) > 3_500_000)
})

t.test('Settings that are wrong later are 503, and the reason is said until they are right again', async (t) => {
  const { url, location } = await newLocation()
  const passwordFile = join(temporaryFolder(t), 'password')
  writeFileSync(passwordFile, location.password as string)
  const store = await open(t, { ...location, passwordFile })
  rmSync(passwordFile)
  await query(
    url,
    'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = current_user AND pid <> pg_backend_pid()',
  )
  await until(async () => {
    const error = await store.findSuite('a').catch((error: Error) => error)
    return error instanceof StoreUnavailable && /DATABASE_PASSWORD_FILE, .* cannot be read/.test(error.message)
  })
  writeFileSync(passwordFile, location.password as string)
  await until(() => isReady(store))
})
