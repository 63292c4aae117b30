import { chmodSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backUpStore, restoreStore } from '../../../src/store/open.ts'
import type { BackupTarget } from '../../../src/store/opened.ts'
import { recordBackup } from '../../../src/store/sqlite/backup.ts'
import { MARK } from '../../../src/store/sqlite/files.ts'
import { AUTHOR } from '../../support/on.ts'
import { START } from '../../support/world.ts'
import { connect, leftOf, newFile, openFile } from './databases.ts'

/** A database that is open, and backups of it at times that the test chooses. */
async function createDatabase(t: Test) {
  const file = newFile(t)
  const copy = `${file}-copy`
  const backUp = (now: number, target: BackupTarget = copy, from = file) =>
    backUpStore({ kind: 'sqlite', file: from }, target, { withoutTokens: false, now: () => now })
  const store = await openFile(t, file)
  return { file, copy, store, lastBackupAt: async () => (await store.measure(START)).lastBackupAt, backUp }
}

const lastBackupOf = (t: Test, file: string) =>
  connect(t, file, { readonly: true }).prepare('SELECT made_at FROM backups').pluck().all()

t.test('Last backup: its time is recorded in the database; the copy has that of the previous backup', async (t) => {
  const { file, copy, lastBackupAt, backUp } = await createDatabase(t)
  await t.rejects(backUp(START, join(file, 'no/where.db')))
  await t.rejects(backUp(START, () => Promise.reject(new Error('nobody reads'))))
  t.equal(await lastBackupAt(), undefined, 'one that failed is none')
  await backUp(START)
  t.equal(await lastBackupAt(), START)
  t.strictSame(lastBackupOf(t, copy), [])
  const second = `${copy}-2`
  await backUp(START + 1, second)
  t.equal(await lastBackupAt(), START + 1)
  t.strictSame(lastBackupOf(t, second), [START])
  await backUp(START + 2, async () => {
    t.equal(await lastBackupAt(), START + 1, 'it is not whole yet')
  })
  t.strictSame(lastBackupOf(t, file), [START + 2])

  const restored = newFile(t)
  const options = { revokeAllTokens: false, now: () => START + 3, author: AUTHOR }
  await restoreStore({ kind: 'sqlite', file: restored }, second, options)
  t.strictSame(lastBackupOf(t, restored), [START])
})

t.test('Last backup: if the database cannot be written, the backup is still made', async (t) => {
  const { file, copy, lastBackupAt, backUp } = await createDatabase(t)
  const other = connect(t, file)
  other.exec('BEGIN IMMEDIATE')
  t.match(await backUp(START), { bytes: statSync(copy).size })
  other.exec('COMMIT')
  t.equal(await lastBackupAt(), undefined)
  await t.rejects(recordBackup(7 as unknown as string, START), TypeError, 'a bug is not taken for that')
})

t.test('Last backup: recording it does not recover a database after a failed fsync', async (t) => {
  const { file, copy, backUp } = await createDatabase(t)
  await recordBackup(file, START)
  const left = leftOf(t, file)
  const { mode, size } = statSync(`${left}-wal`)
  chmodSync(`${left}-wal`, mode | MARK)
  await backUp(START + 1, copy, left)
  t.match(statSync(`${left}-wal`), { mode: mode | MARK, size })
  t.strictSame(lastBackupOf(t, copy), [START])
})

t.test('Last backup: a database with an older schema stays as it is', async (t) => {
  const { file, store, backUp } = await createDatabase(t)
  await store.close()
  const hand = connect(t, file)
  const version = Number(hand.pragma('user_version', { simple: true }))
  hand.pragma(`user_version = ${version + 1}`)
  await backUp(START)
  t.strictSame(lastBackupOf(t, file), [START], 'in that of a newer one it is noted')
  hand.exec('DROP TABLE refusals; DROP TABLE backups; DROP INDEX secrets_ending')
  hand.pragma(`user_version = ${version - 1}`)
  await backUp(START)
  t.equal(hand.pragma('user_version', { simple: true }), version - 1)
})
