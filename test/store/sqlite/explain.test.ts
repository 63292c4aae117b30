import { chownSync, type statfsSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { withSentence } from '../../../src/store/sqlite/copy.ts'
import { explain } from '../../../src/store/sqlite/explain.ts'
import { createRetryLocked } from '../../../src/store/sqlite/retry-locked.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const error = (code: string) => Object.assign(new Error('disk I/O error'), { code })
const disk = (bytes: number, ffree: number) =>
  (() => ({ bsize: 1, bavail: bytes, files: 10, ffree })) as unknown as typeof statfsSync
const ROOMY = disk(2 ** 30, 5)

t.test('Explain: SQLite says the same of a full disk and of a broken one; the sentence does not', async (t) => {
  const folder = temporaryFolder(t)
  const file = `${folder}/store.db`
  const full = `the disk is full. Free some space on the file system of ${folder}.`
  for (const code of ['SQLITE_IOERR_SHMSIZE', 'SQLITE_CANTOPEN', 'SQLITE_FULL', 'ENOSPC'])
    t.equal(explain(error(code), file, disk(4096, 5)), full, code)
  for (const code of ['SQLITE_FULL', 'ENOSPC', 'EDQUOT']) t.equal(explain(error(code), file, ROOMY), full, 'a quota')
  t.equal(
    explain(error('SQLITE_CANTOPEN'), file, disk(2 ** 30, 0)),
    `the file system of ${folder} has no inode left. Delete some files there.`,
  )
  t.equal(explain(error('SQLITE_IOERR_READ'), file, ROOMY), 'disk I/O error (SQLITE_IOERR_READ).')
})

t.test('Explain: a read-only file system, a lock and other errors', async (t) => {
  t.match(explain(error('EROFS'), '/store.db'), /^its file system is read-only\./)
  t.equal(explain(error('SQLITE_BUSY_RECOVERY'), '/store.db'), 'another program has locked it. End that program.')
  t.equal(explain(error('EIO'), '/store.db'), 'disk I/O error.')
  t.equal(explain(new Error('of no kind'), '/store.db'), 'of no kind.')
})

t.test('Explain: what is not allowed, by whom and to whom', async (t) => {
  const own = temporaryFolder(t)
  const user = process.getuid?.()
  const denied = (path: string) => explain(Object.assign(new Error('denied'), { code: 'EACCES', path }), '/store.db')
  t.equal(
    denied(`${own}/deeper/store.db`),
    `${own} belongs to uid ${user} (mode 700), and this process, uid ${user}, may not write there. ` +
      `Make it writable (chmod u+rwX ${own}), or name another place in DATABASE_URL.`,
  )
  t.match(
    explain(Object.assign(new Error('denied'), { code: 'EPERM' }), `${own}/store.db`),
    `${own} belongs to uid ${user}`,
  )
  let others = '/'
  if (user === 0) {
    others = temporaryFolder(t)
    chownSync(others, 65534, 65534)
  }
  t.match(denied(others), `Give it to that user (chown ${user} ${others}), or name another place in DATABASE_URL.`)
})

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

t.test('Copies: what an operator can mend is one sentence, and a bug stays a bug', async (t) => {
  const folder = temporaryFolder(t)
  const say = (error: unknown) => withSentence('Nothing was done', error, `${folder}/copy.db`)
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { syscall: 'write', code: 'ENOSPC' })
  t.match(
    say(full),
    new OperatorError(`Nothing was done: the disk is full. Free some space on the file system of ${folder}.`),
  )
  t.match(say(new OperatorError('The file is wrong.')), new OperatorError('Nothing was done: The file is wrong.'))
  t.match(say(new OperatorError('it is damaged')), new OperatorError('Nothing was done: it is damaged.'))
  const bug = new TypeError('x is not a function')
  t.equal(say(bug), bug)
})
