import type { Test } from 'tap'
import { isAtLeast } from '../../../src/store/migrations.ts'
import { VERSION } from '../../../src/version.ts'
import { folderBefore, folderOf } from '../../support/migrations.ts'

interface Options {
  folder?: URL
  program?: string
  maxTries?: number
}

/** An empty database, without the tables of a store. */
export interface EmptyDatabase {
  migrate: (options: Options) => Promise<{ from: number; to: number }>
  /** Runs a statement, and resolves to the first column of its rows. */
  query: (statement: string) => Promise<unknown[]>
  /** Describes everything in it: rows that are equal if two schemas are. */
  schema: () => Promise<unknown[]>
}

/** Migrations of consecutive releases. */
export const FIRST = { '0001_a.sql': 'CREATE TABLE a (n INTEGER)' }
export const RECORDED = {
  ...FIRST,
  '0002_compatibility.sql':
    "CREATE TABLE compatibility (oldest_program TEXT); INSERT INTO compatibility VALUES ('0.9.0')",
}
export const EXPANDED = { ...RECORDED, '0003_b.sql': 'ALTER TABLE a ADD COLUMN m INTEGER' }
const CONTRACTED = {
  ...EXPANDED,
  '0004_c.sql': "ALTER TABLE a DROP COLUMN n; UPDATE compatibility SET oldest_program = '0.10.0'",
}

/** The first migrations after 0.1.0, which had SQLite only; after a build that was in use before 1.0.0; and after 1.0.0. */
const SINCE = {
  sqlite: ['_generations_usage.sql', '_shared.sql', '_audit_filters.sql'],
  postgres: ['_shared.sql', '_audit_filters.sql'],
}

/** An event of the audit trail before it had email addresses. */
const EVENT = `INSERT INTO audit_events (at, actor, origin, remote_address, action, subject_kind, subject, before)`

/** The rules for the migrations of every store. `kind`: its folder of migrations. `open`: what it opened before may be gone. */
export function migrationConformance(
  t: Test,
  kind: 'sqlite' | 'postgres',
  open: (t: Test) => EmptyDatabase | Promise<EmptyDatabase>,
): void {
  t.test('Migrations: earlier audit events get the email addresses of their authors, if known', async (t) => {
    const { migrate, query } = await open(t)
    await migrate({ folder: folderBefore(t, kind, '_audit_filters.sql') })
    await query("INSERT INTO operators (name, role, email, created_at) VALUES ('i#here', 'admin', 'h@a.example', 1)")
    for (const [actor, action, before] of [
      ['i#here', 'operator logged in', '{"email":"x@a.example"}'],
      ['i#gone', 'operator logged in', '{}'],
      ['i#gone', 'operator removed', '{"email":"old@a.example"}'],
      ['i#gone', 'operator logged in', '{}'],
      ['i#gone', 'operator removed', '{"email":"g@a.example"}'],
      ['i#nobody', 'operator logged in', '{}'],
      ['root', 'operator removed', '{"email":"r@a.example"}'],
    ])
      await query(`${EVENT} VALUES (1, '${actor}', 'console', 'h', '${action}', 'operator', '${actor}', '${before}')`)
    await migrate({})
    const emails = ['h@a.example', ...Array(4).fill('g@a.example'), null, null]
    t.strictSame(await query('SELECT actor_email FROM audit_events ORDER BY id'), emails)
  })

  t.test('Migrations: each is applied once, in order; other files are ignored', async (t) => {
    const { migrate, query } = await open(t)
    const folder = folderOf(t, { ...FIRST, 'README.md': 'no SQL' })
    t.strictSame(await migrate({ folder }), { from: 0, to: 1 })
    t.strictSame(await migrate({ folder }), { from: 1, to: 1 })
    const more = { '0010_c.sql': 'INSERT INTO a VALUES (2)', '0002_b.sql': 'INSERT INTO a VALUES (1)' }
    t.strictSame(await migrate({ folder: folderOf(t, { ...FIRST, ...more }) }), { from: 1, to: 3 })
    t.strictSame(await query('SELECT n FROM a'), [1, 2])
  })

  t.test('Migrations: an upgraded database has the schema of a new one', async (t) => {
    const { migrate, schema } = await open(t)
    await migrate({})
    const latest = await schema()
    for (const name of SINCE[kind]) {
      const { migrate, schema } = await open(t)
      await migrate({ folder: folderBefore(t, kind, name) })
      t.strictNotSame(await schema(), latest, name)
      await migrate({})
      t.strictSame(await schema(), latest, name)
    }
  })

  t.test('Migrations: views are made anew with each new migration, and only then', async (t) => {
    const { migrate, query } = await open(t)
    const create = kind === 'sqlite' ? 'DROP VIEW IF EXISTS v; CREATE VIEW' : 'CREATE OR REPLACE VIEW'
    const views = (value: number) => ({ 'views.sql': `${create} v AS SELECT ${value} AS value FROM a` })
    await migrate({ folder: folderOf(t, { ...RECORDED, ...views(1) }) })
    await query('INSERT INTO a (n) VALUES (7)')
    await migrate({ folder: folderOf(t, { ...RECORDED, ...views(2) }) })
    t.strictSame(await query('SELECT value FROM v'), [1])
    await migrate({ folder: folderOf(t, { ...EXPANDED, ...views(3) }) })
    await migrate({ folder: folderOf(t, { ...RECORDED, ...views(2) }) })
    t.strictSame(await query('SELECT value FROM v'), [3], 'an older program leaves those of a newer one')
  })

  t.test('Migrations: one that fails leaves the database as it was', async (t) => {
    const { migrate, schema } = await open(t)
    const folder = folderOf(t, { ...FIRST, '0002_b.sql': 'CREATE TABLE b (n INTEGER); nonsense' })
    await t.rejects(migrate({ folder }), { message: /syntax error/ })
    t.strictSame(await schema(), [])
    t.strictSame(await migrate({ folder: folderOf(t, FIRST) }), { from: 0, to: 1 })
  })

  t.test('Migrations: a newer schema that allows the program stays as it is, and the program runs', async (t) => {
    const { migrate } = await open(t)
    await migrate({ folder: folderOf(t, EXPANDED) })
    const folder = folderOf(t, RECORDED)
    for (const program of ['0.9.0', '0.10.0', '1.0.0'])
      t.strictSame(await migrate({ folder, program }), { from: 3, to: 3 }, program)
  })

  t.test('Migrations: a newer schema that needs a newer program is refused, with its version', async (t) => {
    const { migrate, query } = await open(t)
    await migrate({ folder: folderOf(t, CONTRACTED), program: '0.1.0' })
    const folder = folderOf(t, RECORDED)
    for (const program of ['0.9.0', '0.9.11', '0.1.0', '0.10.0-rc.1']) {
      const message = `The database needs token-server 0.10.0 or newer, and this is ${program}: upgrade the program.`
      await t.rejects(migrate({ folder, program }), { name: 'OperatorError', message })
    }
    t.strictSame(await migrate({ folder, program: '0.10.0' }), { from: 4, to: 4 })
    const known = { folder: folderOf(t, CONTRACTED), program: '0.1.0' }
    t.strictSame(await migrate(known), { from: 4, to: 4 }, 'one that knows the schema runs on it all the same')
    await query("UPDATE compatibility SET oldest_program = 'soon'")
    const soon = { name: 'OperatorError', message: /needs token-server soon/ }
    await t.rejects(migrate({ folder, program: '9.0.0' }), soon, 'a record that is no version')
  })

  t.test('Migrations: the minor release before may run on the schema, but not 0.1.0, which refuses it', async (t) => {
    const { migrate, query } = await open(t)
    await migrate({})
    const [oldest] = (await query('SELECT oldest_program FROM compatibility')) as [string]
    const minor = VERSION.replace(/\.\d+$/, '.0')
    t.ok(isAtLeast(oldest, '1.0.0') && isAtLeast(VERSION, oldest), oldest)
    t.ok(minor.endsWith('.0.0') || !isAtLeast(oldest, minor), `docs/stability.md: ${oldest} is older than ${minor}`)
  })

  t.test("Migrations: somebody else's database is refused, also one with a table migrations", async (t) => {
    for (const theirs of ['CREATE TABLE theirs (n INTEGER)', 'CREATE TABLE migrations (id INTEGER, batch INTEGER)']) {
      const { migrate, query, schema } = await open(t)
      await query(theirs)
      const before = await schema()
      const refusal = { name: 'OperatorError', message: /of another program.* name another .* in DATABASE_URL\.$/ }
      await t.rejects(migrate({ folder: folderOf(t, FIRST) }), refusal, theirs)
      t.strictSame(await schema(), before)
    }
  })
}
