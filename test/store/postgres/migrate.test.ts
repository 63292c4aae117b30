import t, { type Test } from 'tap'
import { type PostgresHost, type PostgresLocation, parseDatabaseUrl } from '../../../src/domain/database-location.ts'
import { readMigrations } from '../../../src/store/migrations.ts'
import { openStore } from '../../../src/store/open.ts'
import { type Connection, connect } from '../../../src/store/postgres/connection.ts'
import { PostgresUnavailable } from '../../../src/store/postgres/explain.ts'
import { migrate } from '../../../src/store/postgres/migrate.ts'
import { folderOf, LATEST_POSTGRES } from '../../support/migrations.ts'
import { query } from '../../support/postgres/databases.ts'
import { startDatabases, startPostgres } from '../../support/postgres/postgres.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { until } from '../../support/until.ts'

const { createDatabase } = await startDatabases()

const locationOf = (url: string) => parseDatabaseUrl(url) as PostgresLocation

/** A connection of its own for each call, as a node has that starts. */
async function migrateAt(url: string, options: Parameters<typeof migrate>[1]) {
  const location = locationOf(url)
  const connection = await connect(location, location.hosts[0] as PostgresHost)
  try {
    return await migrate(connection, options)
  } finally {
    end(connection)
  }
}

const tablesOf = async (url: string) =>
  (
    await query(
      url,
      "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1",
    )
  ).map(({ relname }) => relname)

const FIRST = { '0001_a.sql': 'CREATE TABLE a (n int)' }
const RECORDED = {
  ...FIRST,
  '0002_compatibility.sql':
    "CREATE TABLE compatibility (oldest_program text); INSERT INTO compatibility VALUES ('0.9.0')",
}
const EXPANDED = { ...RECORDED, '0003_b.sql': 'ALTER TABLE a ADD COLUMN m int' }
const CONTRACTED = {
  ...EXPANDED,
  '0004_c.sql': "ALTER TABLE a DROP COLUMN n; UPDATE compatibility SET oldest_program = '0.10.0'",
}

t.test('Migrations of PostgreSQL: each is applied once, in order; other files are ignored', async (t) => {
  const url = await createDatabase()
  const folder = folderOf(t, { ...FIRST, 'README.md': 'no SQL' })
  t.strictSame(await migrateAt(url, { folder }), { from: 0, to: 1 })
  t.strictSame(await migrateAt(url, { folder }), { from: 1, to: 1 })
  const more = folderOf(t, {
    ...FIRST,
    '0010_c.sql': 'INSERT INTO a VALUES (2)',
    '0002_b.sql': 'INSERT INTO a VALUES (1)',
  })
  t.strictSame(await migrateAt(url, { folder: more }), { from: 1, to: 3 })
  t.strictSame(await query(url, 'SELECT n FROM a ORDER BY ctid'), [{ n: 1 }, { n: 2 }])
  t.strictSame(await query(url, 'SELECT number, name FROM migrations ORDER BY 1'), [
    { number: 1, name: '0001_a.sql' },
    { number: 2, name: '0002_b.sql' },
    { number: 3, name: '0010_c.sql' },
  ])
})

t.test('Migrations of PostgreSQL: one that fails leaves the database as it was', async (t) => {
  const url = await createDatabase()
  const folder = folderOf(t, { ...FIRST, '0002_b.sql': 'CREATE TABLE b (n int); nonsense' })
  await t.rejects(migrateAt(url, { folder }), { name: 'StoreUnavailable', message: /42601, syntax error/ })
  t.strictSame(await tablesOf(url), [])
  t.strictSame(await migrateAt(url, { folder: folderOf(t, FIRST) }), { from: 0, to: 1 })
})

t.test(
  'Migrations of PostgreSQL: a newer schema that allows the program stays as it is, and the program runs',
  async (t) => {
    const url = await createDatabase()
    await migrateAt(url, { folder: folderOf(t, EXPANDED) })
    const folder = folderOf(t, RECORDED)
    for (const program of ['0.9.0', '0.10.0', '1.0.0']) {
      t.strictSame(await migrateAt(url, { folder, program }), { from: 3, to: 3 }, program)
    }
  },
)

t.test(
  'Migrations of PostgreSQL: a newer schema that needs a newer program is refused, with its version',
  async (t) => {
    const url = await createDatabase()
    await migrateAt(url, { folder: folderOf(t, CONTRACTED) })
    const folder = folderOf(t, RECORDED)
    await t.rejects(migrateAt(url, { folder, program: '0.9.11' }), {
      name: 'OperatorError',
      message: 'The database needs token-server 0.10.0 or newer, and this is 0.9.11: upgrade the program.',
    })
    t.strictSame(await migrateAt(url, { folder, program: '0.10.0' }), { from: 4, to: 4 })
  },
)

t.test("Migrations of PostgreSQL: somebody else's database is refused, also one with a table migrations", async (t) => {
  for (const theirs of [
    'CREATE TABLE theirs (n int)',
    'CREATE TABLE migrations (id serial, migration text, batch int)',
  ]) {
    const url = await createDatabase()
    await query(url, theirs)
    const before = await tablesOf(url)
    await t.rejects(openStore(locationOf(url), { lockTimeout: 200 }), {
      name: 'OperatorError',
      message: 'The database has tables of another program: name another database in DATABASE_URL.',
    })
    t.strictSame(await tablesOf(url), before, theirs)
  }
})

t.test('Migrations of PostgreSQL: of several nodes that start at once one migrates, and all go on', async (t) => {
  const url = await createDatabase()
  const stores = await Promise.all(Array.from({ length: 5 }, () => openStore(locationOf(url), { lockTimeout: 200 })))
  for (const store of stores) t.teardown(() => store.close())
  t.strictSame(stores.map(({ migrated }) => migrated.from).sort(), [0, ...Array(4).fill(LATEST_POSTGRES)])
  t.equal((await query(url, 'SELECT FROM migrations')).length, LATEST_POSTGRES)
})

t.test(
  'Migrations of PostgreSQL: what a node has begun is undone where its machine dies, and another one migrates',
  async (t) => {
    const url = await createDatabase()
    await migrateAt(url, { folder: folderOf(t, FIRST) })
    const more = { ...FIRST, '0002_b.sql': 'ALTER TABLE a ADD COLUMN m int; SELECT pg_sleep(1)' }
    const proxy = await startProxy(t, Number(new URL(url).port))
    const dying = migrateAt(proxy.through(url), { folder: folderOf(t, more) })
    await until(
      async () =>
        (await query(url, "SELECT FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND relation = 'a'::regclass"))
          .length > 0,
    )
    proxy.swallow()
    t.strictSame(await migrateAt(url, { folder: folderOf(t, more) }), { from: 1, to: 2 })
    proxy.cut()
    await t.rejects(dying, { name: 'StoreUnavailable' })
  },
)

t.test(
  'Migrations of PostgreSQL: one waits for a long transaction in steps, so that nobody waits long behind it',
  async (t) => {
    const url = await createDatabase()
    await migrateAt(url, { folder: folderOf(t, RECORDED) })
    const dump = await begin(t, url, 'SELECT FROM a')
    const folder = folderOf(t, EXPANDED)
    await t.rejects(migrateAt(url, { folder, maxTries: 1 }), {
      name: 'StoreUnavailable',
      message: /55P03, .*\(another node .*, or a pg_dump uses it: wait until that has ended\)$/,
    })
    const migrated = migrateAt(url, { folder })
    const waiting = "SELECT FROM pg_locks WHERE relation = 'a'::regclass AND NOT granted"
    await until(async () => (await query(url, waiting)).length > 0)
    t.strictSame(await query(url, 'SELECT n FROM a'), [], 'the one that came after it is answered before it')
    dump.end()
    t.strictSame(await migrated, { from: 2, to: 3 })
  },
)

t.test('Migrations of PostgreSQL: one that PostgreSQL ends because of a deadlock tries again', async (t) => {
  const url = await createDatabase()
  const two = { ...RECORDED, '0003_b.sql': 'CREATE TABLE b (n int)' }
  await migrateAt(url, { folder: folderOf(t, two) })
  const other = await begin(t, url, 'LOCK TABLE b')
  const both = folderOf(t, { ...two, '0004_c.sql': 'ALTER TABLE a ADD COLUMN m int; ALTER TABLE b ADD COLUMN m int' })
  const migrated = migrateAt(url, { folder: both })
  const waiting = "SELECT FROM pg_locks WHERE relation = 'b'::regclass AND NOT granted"
  await until(async () => (await query(url, waiting)).length > 0)
  await other.ask('LOCK TABLE a')
  other.end()
  t.strictSame(await migrated, { from: 3, to: 4 })
})

const HOT = /\b(ALTER|DROP|TRUNCATE|INDEX|TRIGGER)\b[^;]*\b(applications|suites|approvals|secrets|tokens|changes)\b/i
const LOCK_FIRST = /^(--[^\n]*\n|\s)*LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;/

t.test(
  'Migrations of PostgreSQL: what changes a table that checks read begins with the lock that they begin with',
  async (t) => {
    const [, ...later] = readMigrations(new URL('../../../migrations/postgres/', import.meta.url))
    for (const { name, sql } of later) t.ok(!HOT.test(sql) || LOCK_FIRST.test(sql), name)
    t.match('ALTER TABLE tokens ADD COLUMN n int', HOT)
    t.match('CREATE INDEX n ON secrets (n)', HOT)
    t.notMatch('CREATE TABLE notes (n int)', HOT)
    t.match('-- Why.\n\nLOCK TABLE changes IN ACCESS EXCLUSIVE MODE;\nALTER TABLE tokens …', LOCK_FIRST)
  },
)

t.test('Migrations of PostgreSQL: an autovacuum makes way, however long it would take', async (t) => {
  const server = await startPostgres(t, { settings: { autovacuum_naptime: '1s' } })
  const url = await server.createDatabase()
  await migrateAt(url, { folder: folderOf(t, RECORDED) })
  await query(url, 'ALTER TABLE a SET (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)')
  await query(url, 'INSERT INTO a SELECT generate_series(1, 200000)')
  await query(url, 'DELETE FROM a')
  const vacuum = "SELECT FROM pg_stat_activity WHERE backend_type = 'autovacuum worker' AND query LIKE '%public.a%'"
  await until(async () => (await server.query(vacuum)).length > 0)
  t.strictSame(await migrateAt(url, { folder: folderOf(t, EXPANDED), maxTries: 3 }), { from: 2, to: 3 })
  t.match(server.log(), /canceling autovacuum task/)
})

/** A transaction that has sent a statement, and stays open. */
async function begin(t: Test, url: string, statement: string) {
  const location = locationOf(url)
  const connection = await connect(location, location.hosts[0] as PostgresHost)
  t.teardown(() => end(connection))
  const ask = (statement: string) => connection.ask(statement, [], 10_000)
  await ask('BEGIN')
  await ask(statement)
  return { ask, end: () => end(connection) }
}

function end(connection: Connection): void {
  connection.destroy(new PostgresUnavailable('not needed'))
}
