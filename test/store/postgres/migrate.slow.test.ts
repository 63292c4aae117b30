import t, { type Test } from 'tap'
import { askWithin } from '../../../src/store/postgres/connection.ts'
import { folderBefore, folderOf, LATEST_POSTGRES } from '../../support/migrations.ts'
import { query } from '../../support/postgres/databases.ts'
import { startDatabases, startPostgres } from '../../support/postgres/postgres.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { until } from '../../support/until.ts'
import { EXPANDED, FIRST, RECORDED } from '../conformance/migrations.ts'
import { connectTo, end, migrateAt } from './stores.ts'

const { createEmptyDatabase, query: asSuperuser } = await startDatabases()

t.test('Migrations: if a migrating node loses power, its work is undone and another one migrates', async (t) => {
  const url = await createEmptyDatabase()
  await migrateAt(url, { folder: folderOf(t, FIRST) })
  const more = { ...FIRST, '0002_b.sql': 'ALTER TABLE a ADD COLUMN m int; SELECT pg_sleep(1)' }
  const proxy = await startProxy(t, Number(new URL(url).port))
  const dying = migrateAt(proxy.through(url), { folder: folderOf(t, more) })
  await untilLocked(url, "mode = 'AccessExclusiveLock' AND relation = 'a'::regclass")
  proxy.swallow()
  t.strictSame(await migrateAt(url, { folder: folderOf(t, more) }), { from: 1, to: 2 })
  proxy.cut()
  await t.rejects(dying, { name: 'StoreUnavailable' })
})

t.test('Migrations: one waits for a long transaction in steps, so that others are not blocked long', async (t) => {
  const url = await createEmptyDatabase()
  await migrateAt(url, { folder: folderOf(t, RECORDED) })
  const dump = await begin(t, url, 'SELECT FROM a')
  const folder = folderOf(t, EXPANDED)
  const message = /55P03, .*\(another node .*, or a pg_dump is reading it: wait until it ends\)$/
  await t.rejects(migrateAt(url, { folder, maxTries: 1 }), { name: 'StoreUnavailable', message })
  const migrated = migrateAt(url, { folder })
  await untilLocked(url, "relation = 'a'::regclass AND NOT granted")
  t.strictSame(await query(url, 'SELECT n FROM a'), [], 'a later statement is answered first')
  dump.end()
  t.strictSame(await migrated, { from: 2, to: 3 })
})

t.test('Migrations: a view of another role in the schema, such as one of an extension, is left alone', async (t) => {
  const url = await createEmptyDatabase()
  await migrateAt(url, { folder: folderBefore(t, 'postgres', '_suite_urls.sql') })
  await asSuperuser('CREATE VIEW public.pg_stat_statements AS SELECT 1 AS calls', new URL(url).pathname.slice(1))
  t.match(await migrateAt(url, { maxTries: 1 }), { to: LATEST_POSTGRES })
})

t.test('Migrations: one that PostgreSQL ends because of a deadlock is retried', async (t) => {
  const url = await createEmptyDatabase()
  const two = { ...RECORDED, '0003_b.sql': 'CREATE TABLE b (n int)' }
  await migrateAt(url, { folder: folderOf(t, two) })
  const other = await begin(t, url, 'LOCK TABLE b')
  const both = folderOf(t, { ...two, '0004_c.sql': 'ALTER TABLE a ADD COLUMN m int; ALTER TABLE b ADD COLUMN m int' })
  const migrated = migrateAt(url, { folder: both })
  await untilLocked(url, "relation = 'b'::regclass AND NOT granted")
  await other.ask('LOCK TABLE a')
  other.end()
  t.strictSame(await migrated, { from: 3, to: 4 })
})

t.test(
  'Migrations: a request that is under way gets all its locks, in whatever order, and no deadlock ends it',
  async (t) => {
    for (const [first, second] of [
      ['INSERT INTO tokens SELECT * FROM tokens', 'SELECT registry FROM changes'],
      // Locks the view, and not yet its tables.
      ["COMMENT ON VIEW suites_as_json IS 'All'", 'SELECT id FROM suites'],
    ] as const) {
      const url = await createEmptyDatabase()
      await migrateAt(url, { folder: folderBefore(t, 'postgres', '_suite_urls.sql') })
      const request = await begin(t, url, first)
      const migrated = migrateAt(url, { maxTries: 1 })
      await untilLocked(url, 'NOT granted')
      await request.ask(second)
      request.end()
      t.match(await migrated, { to: LATEST_POSTGRES }, first)
    }
  },
)

t.test('Migrations: a view that stays as it is can be read meanwhile', async (t) => {
  const url = await createEmptyDatabase()
  const comment = "COMMENT ON VIEW v IS 'All'"
  const views = `CREATE OR REPLACE VIEW v AS SELECT n FROM a; ${comment}; CREATE OR REPLACE VIEW w AS SELECT n FROM a`
  await migrateAt(url, { folder: folderOf(t, { ...RECORDED, 'views.sql': views }) })
  const reader = await begin(t, url, 'SELECT n FROM v')
  const next = { ...RECORDED, '0003_b.sql': 'CREATE TABLE b (n int)' }
  await migrateAt(url, { folder: folderOf(t, { ...next, 'views.sql': `${views} WHERE n > 1` }), maxTries: 1 })
  await query(url, 'INSERT INTO a VALUES (1)')
  t.strictSame(await reader.ask('SELECT n FROM v'), [[1]])
  t.strictSame(await reader.ask('SELECT n FROM w'), [])
  t.strictSame(await query(url, "SELECT obj_description('v'::regclass)"), [{ obj_description: 'All' }])
})

t.test('Migrations: a change of an operator that is under way is made first', async (t) => {
  const url = await createEmptyDatabase()
  await migrateAt(url, { folder: folderBefore(t, 'postgres', '_audit_filters.sql') })
  const change = await begin(t, url, 'SELECT registry FROM changes FOR UPDATE')
  await change.ask('SELECT json FROM applications_as_json')
  const migrated = migrateAt(url, { maxTries: 1 })
  await untilLocked(url, 'NOT granted')
  const columns = '(at, actor, origin, remote_address, action, subject_kind, subject)'
  await change.ask(`INSERT INTO audit_events ${columns} VALUES (1, $1, $1, $1, $1, $1, $1)`, ['a'])
  await change.ask('COMMIT')
  t.match(await migrated, { to: LATEST_POSTGRES })
})

t.test('Migrations: an autovacuum gives way, however long it would take', async (t) => {
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

/** A transaction that has run a statement and stays open. */
async function begin(t: Test, url: string, statement: string) {
  const connection = await connectTo(url)
  t.teardown(() => end(connection))
  const ask = askWithin(connection, 10_000)
  await ask('BEGIN')
  await ask(statement)
  return { ask, end: () => end(connection) }
}

async function untilLocked(url: string, how: string): Promise<void> {
  await until(async () => (await query(url, `SELECT FROM pg_locks WHERE ${how}`)).length > 0)
}
