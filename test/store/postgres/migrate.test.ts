import t from 'tap'
import { readMigrations } from '../../../src/store/migrations.ts'
import { folderOf } from '../../support/migrations.ts'
import { keepClient } from '../../support/postgres/databases.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { type EmptyDatabase, FIRST, migrationConformance } from '../conformance/migrations.ts'
import { migrateAt } from './stores.ts'

const { createEmptyDatabase } = await startDatabases()

const SCHEMA = `
  SELECT concat_ws(' ', relname, attnum, attname, format_type(atttypid, atttypmod), attcollation::regcollation, attnotnull,
                   attidentity, pg_get_expr(adbin, adrelid), reloptions)
    FROM pg_class c
    JOIN pg_attribute a ON attrelid = c.oid AND attnum > 0 AND NOT attisdropped
    LEFT JOIN pg_attrdef ON adrelid = c.oid AND adnum = attnum
   WHERE relkind IN ('r', 'v') AND relnamespace = 'public'::regnamespace
   UNION ALL SELECT viewname || pg_get_viewdef(viewname::regclass) FROM pg_views WHERE schemaname = 'public'
   UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
   UNION ALL SELECT conrelid::regclass || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
   UNION ALL SELECT pg_get_triggerdef(t.oid)
     FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = 'public'::regnamespace AND NOT tgisinternal
   UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace
   ORDER BY 1`

const url = await createEmptyDatabase()
const hand = await keepClient(t, url)
/** The same database for each test, emptied. */
const open = async () => {
  await hand.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  const firstOf = async (text: string) => (await hand.query(text)).rows.map((row) => Object.values(row)[0])
  const migrate: EmptyDatabase['migrate'] = (options) => migrateAt(url, options)
  return { migrate, query: firstOf, schema: () => firstOf(SCHEMA) }
}

t.test('in PostgreSQL', async (t) => migrationConformance(t, 'postgres', open))

t.test('Migrations: each one is recorded with its name', async (t) => {
  const { migrate, query } = await open()
  await migrate({ folder: folderOf(t, FIRST) })
  t.strictSame(await query("SELECT number || ' ' || name FROM migrations"), ['1 0001_a.sql'])
})

const [, ...later] = readMigrations(new URL('../../../migrations/postgres/', import.meta.url))
const changing = (tables: string) => new RegExp(`\\b(ALTER|DROP|TRUNCATE|INDEX|TRIGGER)\\b[^;]*\\b(${tables})\\b`, 'i')
const HOT = changing('applications|suites|approvals|secrets|tokens|changes')
const AUDITED = changing('audit_events|idempotency_keys|operators|admin_keys|login_codes|sessions|hand_over_links')
const LOCK_FIRST = /^(--[^\n]*\n|\s)*LOCK TABLE changes IN ACCESS EXCLUSIVE MODE;/
const LOCKS_OUT_CHANGES = /^(--[^\n]*\n|\s)*LOCK TABLE changes IN (ACCESS )?EXCLUSIVE MODE;/

t.test('Migrations: a change of a table that checks or audited changes use begins with their lock', async (t) => {
  for (const { name, sql } of later) {
    t.ok(!HOT.test(sql) || LOCK_FIRST.test(sql), name)
    // What older ones change is released; migrate.slow.test.ts tells what happens without the lock.
    if (name >= '0012') t.ok(!AUDITED.test(sql) || LOCKS_OUT_CHANGES.test(sql), name)
  }
  t.match('ALTER TABLE tokens ADD COLUMN n int', HOT)
  t.match('CREATE INDEX n ON secrets (n)', HOT)
  t.notMatch('CREATE TABLE notes (n int)', HOT)
  t.match('-- Why.\n\nLOCK TABLE changes IN ACCESS EXCLUSIVE MODE;\nALTER TABLE tokens …', LOCK_FIRST)
  t.match('ALTER TABLE sessions ADD COLUMN n int', AUDITED)
})
