import { chmodSync, copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { backUpStore, restoreStore } from '../../../src/store/open.ts'
import type { BackupTarget } from '../../../src/store/opened.ts'
import { recordBackup } from '../../../src/store/sqlite/backup.ts'
import { MARK } from '../../../src/store/sqlite/files.ts'
import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { AUTHOR } from '../../support/audit.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { START } from '../../support/world.ts'

/** A database that is open, and backups of it at times that the test chooses. */
function createDatabase(t: Test) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'store.db')
  const copy = join(folder, 'copy.db')
  const store = openSqlite(file, { lockTimeout: 0 })
  t.teardown(() => store.close())
  const backUp = (now: number, target: BackupTarget = copy) =>
    backUpStore({ kind: 'sqlite', file }, target, { withoutTokens: false, now: () => now })
  return { folder, file, copy, store, backUp }
}

function lastBackupOf(file: string): unknown {
  const db = new Database(file, { readonly: true })
  const rows = db.prepare('SELECT made_at FROM backups').pluck().all()
  db.close()
  return rows
}

t.test('Last backup: its time is noted in the database, and in the copy is that of the one before', async (t) => {
  const { folder, file, copy, store, backUp } = createDatabase(t)
  t.equal(await store.lastBackupAt(), undefined)
  await backUp(START)
  t.equal(await store.lastBackupAt(), START)
  t.strictSame(lastBackupOf(copy), [])
  await backUp(START + 1)
  t.equal(await store.lastBackupAt(), START + 1)
  t.strictSame(lastBackupOf(copy), [START])
  await backUp(START + 2, async () => {
    t.equal(await store.lastBackupAt(), START + 1, 'it is not whole yet')
  })
  t.equal(await store.lastBackupAt(), START + 2)
  t.strictSame(lastBackupOf(file), [START + 2])

  const restored = join(folder, 'restored.db')
  await restoreStore({ kind: 'sqlite', file: restored }, copy, {
    revokeAllTokens: false,
    now: () => START + 3,
    author: AUTHOR,
  })
  t.strictSame(lastBackupOf(restored), [START])
})

t.test('Last backup: one that failed is none', async (t) => {
  const { folder, store, backUp } = createDatabase(t)
  await t.rejects(backUp(START, join(folder, 'no/where.db')))
  await t.rejects(backUp(START, () => Promise.reject(new Error('nobody reads'))))
  t.equal(await store.lastBackupAt(), undefined)
})

t.test('Last backup: where the database cannot be written the backup is made all the same', async (t) => {
  const { file, copy, store, backUp } = createDatabase(t)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  t.match(await backUp(START), { bytes: statSync(copy).size })
  other.exec('COMMIT')
  t.equal(await store.lastBackupAt(), undefined)
})

t.test('Last backup: what an fsync has left behind is not brought to the disk for its sake', async (t) => {
  const { folder, file, copy, store } = createDatabase(t)
  await store.recordBackup(START)
  // As it is when its server was killed: nobody has it open.
  const left = join(folder, 'left.db')
  for (const suffix of ['', '-wal']) copyFileSync(file + suffix, left + suffix)
  const { mode, size } = statSync(`${left}-wal`)
  chmodSync(`${left}-wal`, mode | MARK)
  await backUpStore({ kind: 'sqlite', file: left }, copy, { withoutTokens: false, now: () => START + 1 })
  t.match(statSync(`${left}-wal`), { mode: mode | MARK, size })
  t.strictSame(lastBackupOf(copy), [START])
})

t.test('Last backup: a database of an older schema is left as it is', async (t) => {
  const { file, store, backUp } = createDatabase(t)
  await store.close()
  const hand = new Database(file)
  t.teardown(() => hand.close())
  const version = Number(hand.pragma('user_version', { simple: true }))
  hand.pragma(`user_version = ${version + 1}`)
  await backUp(START)
  t.strictSame(lastBackupOf(file), [START], 'in that of a newer one it is noted')
  hand.exec('DROP TABLE refusals; DROP TABLE backups; DROP INDEX secrets_ending')
  hand.pragma(`user_version = ${version - 1}`)
  await backUp(START)
  t.equal(hand.pragma('user_version', { simple: true }), version - 1)
})

t.test('Last backup: a bug is not taken for a database that cannot be written', async (t) => {
  await t.rejects(recordBackup(7 as unknown as string, START), TypeError)
})
