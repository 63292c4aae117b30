import t from 'tap'
import { readMigrations } from '../../../src/store/migrations.ts'
import { folderOf } from '../../support/migrations.ts'
import { query } from '../../support/postgres/databases.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { FIRST, migrationConformance } from '../conformance/migrations.ts'
import { migrateAt } from './stores.ts'

const { createEmptyDatabase } = await startDatabases()

const TABLES = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"

t.test('in PostgreSQL', async (t) =>
  migrationConformance(t, 'postgres', async () => {
    const url = await createEmptyDatabase()
    const firstOf = async (text: string) => (await query(url, text)).map((row) => Object.values(row)[0])
    return { migrate: (options) => migrateAt(url, options), query: firstOf, tables: () => firstOf(TABLES) }
  }),
)

t.test('Migrations: each one is recorded with its name', async (t) => {
  const url = await createEmptyDatabase()
  await migrateAt(url, { folder: folderOf(t, FIRST) })
  t.strictSame(await query(url, 'SELECT number, name FROM migrations'), [{ number: 1, name: '0001_a.sql' }])
})

const HOT = /\b(ALTER|DROP|TRUNCATE|INDEX|TRIGGER)\b[^;]*\b(applications|suites|approvals|secrets|tokens|changes)\b/i
const LOCK_FIRST = /^(--[^\n]*\n|\s)*LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;/

t.test('Migrations: a change of a table that checks read begins with the lock that checks begin with', async (t) => {
  const [, ...later] = readMigrations(new URL('../../../migrations/postgres/', import.meta.url))
  for (const { name, sql } of later) t.ok(!HOT.test(sql) || LOCK_FIRST.test(sql), name)
  t.match('ALTER TABLE tokens ADD COLUMN n int', HOT)
  t.match('CREATE INDEX n ON secrets (n)', HOT)
  t.notMatch('CREATE TABLE notes (n int)', HOT)
  t.match('-- Why.\n\nLOCK TABLE changes IN ACCESS EXCLUSIVE MODE;\nALTER TABLE tokens …', LOCK_FIRST)
})
