import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { createRetryLocked } from '../../../src/store/sqlite/retry-locked.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

t.test('SQLite: what it answers is said with the database, the cause and what to do', async (t) => {
  const folder = temporaryFolder(t)
  const file = join(folder, 'store.db')
  const retryLocked = createRetryLocked(file, 0, { onError() {}, distrust() {} })
  const answer = (code: string) =>
    retryLocked(() => {
      throw new Database.SqliteError('database or disk is full', code)
    })
  await t.rejects(answer('SQLITE_FULL'), {
    name: 'StoreUnavailable',
    message: `the database ${file} answered SQLITE_FULL: the disk is full. Free some space on the file system of ${folder}.`,
  })
  await t.rejects(answer('SQLITE_BUSY'), {
    message: `the database ${file} answered SQLITE_BUSY: another program has locked it. End that program.`,
  })
})
