import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { migrate } from '../../../src/store/sqlite/migrate.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

function openDatabase(t: Test) {
  const db = new Database(':memory:')
  t.teardown(() => db.close())
  return db
}

function folderOf(t: Test, migrations: Record<string, string>): URL {
  const folder = join(temporaryFolder(t), 'migrations')
  mkdirSync(folder)
  for (const [name, sql] of Object.entries(migrations)) writeFileSync(join(folder, name), sql)
  return pathToFileURL(`${folder}/`)
}

const FIRST = { '0001_a.sql': 'CREATE TABLE a (n INTEGER)' }

t.test('Migrations: each is applied once, in order; other files are ignored', async (t) => {
  const db = openDatabase(t)
  const folder = folderOf(t, { ...FIRST, 'README.md': 'no SQL' })
  t.strictSame(migrate(db, folder), { from: 0, to: 1 })
  t.strictSame(migrate(db, folder), { from: 1, to: 1 })
  const more = folderOf(t, {
    ...FIRST,
    '0010_c.sql': 'INSERT INTO a VALUES (2)',
    '0002_b.sql': 'INSERT INTO a VALUES (1)',
  })
  t.strictSame(migrate(db, more), { from: 1, to: 3 })
  t.strictSame(db.prepare('SELECT n FROM a ORDER BY rowid').pluck().all(), [1, 2])
})

t.test('Migrations: one that fails leaves the database as it was', async (t) => {
  const db = openDatabase(t)
  t.throws(() => migrate(db, folderOf(t, { ...FIRST, '0002_b.sql': 'CREATE TABLE b (n); nonsense' })))
  t.strictSame(db.prepare('SELECT name FROM sqlite_schema').all(), [])
  t.strictSame(migrate(db, folderOf(t, FIRST)), { from: 0, to: 1 })
})

t.test('Migrations: a database newer than the program is refused', async (t) => {
  const db = openDatabase(t)
  db.pragma('user_version = 2')
  t.throws(() => migrate(db, folderOf(t, FIRST)), { message: /at version 2, .* up to 1: upgrade the program/ })
})

t.test("Migrations: somebody else's database is refused", async (t) => {
  const db = openDatabase(t)
  db.exec('CREATE TABLE theirs (n INTEGER)')
  t.throws(() => migrate(db, folderOf(t, FIRST)), { name: 'OperatorError', message: /of another program/ })
})
