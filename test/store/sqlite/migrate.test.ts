import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { folderOf, LATEST } from '../../support/migrations.ts'

function openDatabase(t: Test) {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  return db
}

const FIRST = { '0001_a.sql': 'CREATE TABLE a (n INTEGER)' }

t.test('Migrations: each is applied once, in order; other files are ignored', async (t) => {
  const db = openDatabase(t)
  const folder = folderOf(t, { ...FIRST, 'README.md': 'no SQL' })
  t.strictSame(migrate(db, { folder }), { from: 0, to: 1 })
  t.strictSame(migrate(db, { folder }), { from: 1, to: 1 })
  const more = folderOf(t, {
    ...FIRST,
    '0010_c.sql': 'INSERT INTO a VALUES (2)',
    '0002_b.sql': 'INSERT INTO a VALUES (1)',
  })
  t.strictSame(migrate(db, { folder: more }), { from: 1, to: 3 })
  t.strictSame(db.prepare('SELECT n FROM a ORDER BY rowid').pluck().all(), [1, 2])
})

t.test('Migrations: one that fails leaves the database as it was', async (t) => {
  const db = openDatabase(t)
  t.throws(() => migrate(db, { folder: folderOf(t, { ...FIRST, '0002_b.sql': 'CREATE TABLE b (n); nonsense' }) }))
  t.strictSame(db.prepare('SELECT name FROM sqlite_schema').all(), [])
  t.strictSame(migrate(db, { folder: folderOf(t, FIRST) }), { from: 0, to: 1 })
})

const RECORDED = {
  ...FIRST,
  '0002_compatibility.sql':
    "CREATE TABLE compatibility (oldest_program TEXT); INSERT INTO compatibility VALUES ('0.9.0')",
}
const EXPANDED = { ...RECORDED, '0003_b.sql': 'ALTER TABLE a ADD COLUMN m INTEGER' }
const CONTRACTED = {
  ...EXPANDED,
  '0004_c.sql': "ALTER TABLE a DROP COLUMN n; UPDATE compatibility SET oldest_program = '0.10.0'",
}

t.test('Migrations: a newer schema that allows the program stays as it is, and the program runs', async (t) => {
  const db = openDatabase(t)
  migrate(db, { folder: folderOf(t, EXPANDED) })
  const folder = folderOf(t, RECORDED)
  for (const program of ['0.9.0', '0.10.0', '1.0.0']) {
    t.strictSame(migrate(db, { folder, program }), { from: 3, to: 3 }, program)
  }
  t.equal(db.pragma('user_version', { simple: true }), 3)
})

t.test(
  'Migrations: a newer schema that needs a newer program is refused, with the version that it needs',
  async (t) => {
    const db = openDatabase(t)
    migrate(db, { folder: folderOf(t, CONTRACTED) })
    for (const program of ['0.9.0', '0.9.11', '0.1.0', '0.10.0-rc.1']) {
      t.throws(() => migrate(db, { folder: folderOf(t, RECORDED), program }), {
        name: 'OperatorError',
        message: `The database needs token-server 0.10.0 or newer, and this is ${program}: upgrade the program.`,
      })
    }
    t.strictSame(migrate(db, { folder: folderOf(t, RECORDED), program: '0.10.0' }), { from: 4, to: 4 })
  },
)

t.test('Migrations: a program that knows the schema runs on it, whatever the record says', async (t) => {
  const db = openDatabase(t)
  const folder = folderOf(t, CONTRACTED)
  t.strictSame(migrate(db, { folder, program: '0.1.0' }), { from: 0, to: 4 })
  t.strictSame(migrate(db, { folder, program: '0.1.0' }), { from: 4, to: 4 })
})

t.test('Migrations: a record that is no version allows no older program', async (t) => {
  const db = openDatabase(t)
  migrate(db, { folder: folderOf(t, EXPANDED) })
  db.exec("UPDATE compatibility SET oldest_program = 'soon'")
  t.throws(() => migrate(db, { folder: folderOf(t, RECORDED), program: '9.0.0' }), {
    message: /needs token-server soon/,
  })
})

t.test("Migrations: the next release's may run beside this program", async (t) => {
  const db = openDatabase(t)
  migrate(db)
  const oldest = db.prepare('SELECT oldest_program FROM compatibility').pluck().all()
  t.equal(oldest.length, 1)
  db.pragma(`user_version = ${LATEST + 1}`)
  t.strictSame(migrate(db), { from: LATEST + 1, to: LATEST + 1 })
})

t.test('Migrations: a newer database without a record is refused', async (t) => {
  const db = openDatabase(t)
  db.pragma('user_version = 2')
  t.throws(() => migrate(db, { folder: folderOf(t, FIRST) }), {
    message: /at version 2, .* up to 1: upgrade the program/,
  })
})

t.test("Migrations: somebody else's database is refused", async (t) => {
  const db = openDatabase(t)
  db.exec('CREATE TABLE theirs (n INTEGER)')
  t.throws(() => migrate(db, { folder: folderOf(t, FIRST) }), { name: 'OperatorError', message: /of another program/ })
})

t.test('Migrations: an empty database stays empty where nothing is to be made', async (t) => {
  const db = openDatabase(t)
  t.throws(() => migrate(db, { create: false }), { name: 'OperatorError', message: /^The database .* is empty\. / })
  t.equal(db.pragma('user_version', { simple: true }), 0)
  migrate(db)
  t.strictSame(migrate(db, { create: false }), { from: LATEST, to: LATEST })
})
