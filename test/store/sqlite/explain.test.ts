import { chownSync, type statfsSync, statSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import t from 'tap'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { assertSqliteVersion } from '../../../src/store/sqlite/connection.ts'
import { explain, toOperatorError } from '../../../src/store/sqlite/explain.ts'
import { createRetryLocked } from '../../../src/store/sqlite/retry-locked.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const error = (code: string, more = {}) => Object.assign(new Error('disk I/O error'), { code, ...more })
const disk = (bytes: number, ffree: number, files = 10) =>
  (() => ({ bsize: 1, bavail: bytes, files, ffree })) as unknown as typeof statfsSync
const ROOMY = disk(2 ** 30, 5)

t.test('Explain: SQLite has the same error for a full disk and a broken one; the sentence differs', async (t) => {
  const folder = temporaryFolder(t)
  const file = `${folder}/store.db`
  const full = `the disk is full. Free some space on the file system of ${folder}.`
  const cases: [codes: string, of: typeof statfsSync, sentence: string][] = [
    ['SQLITE_IOERR_SHMSIZE SQLITE_CANTOPEN SQLITE_FULL ENOSPC', disk(4096, 5), full],
    // A quota.
    ['SQLITE_FULL ENOSPC EDQUOT', ROOMY, full],
    ['SQLITE_CANTOPEN', disk(2 ** 30, 0), `the file system of ${folder} has no inode left. Delete some files there.`],
    ['SQLITE_IOERR_READ', ROOMY, 'disk I/O error (SQLITE_IOERR_READ).'],
    ['SQLITE_IOERR_READ', disk(2 ** 30, 0, 0), 'disk I/O error (SQLITE_IOERR_READ).'],
    ['SQLITE_BUSY_RECOVERY', ROOMY, 'another program has locked it. Wait, or end that program if it hangs.'],
    ['EIO ENOENT', ROOMY, 'disk I/O error.'],
  ]
  for (const [codes, of, sentence] of cases)
    for (const code of codes.split(' ')) t.equal(explain(error(code), file, of), sentence, code)
  // SQLite opens what it cannot write for reading, and then cannot lock it.
  const readOnly =
    /^its file system is read-only\. .* do not unmount it before \/store\.db and \/store\.db-wal are copied/
  for (const code of ['EROFS', 'SQLITE_IOERR_LOCK']) t.match(explain(error(code), '/store.db'), readOnly)
  t.equal(explain(new Error('of no kind'), '/store.db'), 'of no kind.')

  const retryLocked = createRetryLocked(file, 0, { onError() {}, distrust() {} })
  const fail = () => {
    throw new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
  }
  const message = `the database ${file} answered SQLITE_FULL: ${full}`
  await t.rejects(retryLocked(fail), { name: 'StoreUnavailable', message }, 'with the database and the cause')
})

t.test('Explain: a missing folder is named, and not the call that failed', async (t) => {
  const folder = temporaryFolder(t)
  const advice = 'Create it, or name another place.'
  const missing = (code: string, more = {}) => explain(error(code, more), `${folder}/a/store.db`)
  t.equal(missing('ENOENT'), `there is no folder ${folder}/a. ${advice}`)
  t.equal(missing('ENOENT', { path: `${folder}/b/x` }), `there is no folder ${folder}/b. ${advice}`)
  writeFileSync(`${folder}/file`, '')
  t.equal(missing('ENOTDIR', { path: `${folder}/file/x` }), `${folder}/file is not a folder. Name another place.`)
})

t.test('Explain: a permission error names the owner and the user', async (t) => {
  const own = temporaryFolder(t)
  const user = process.getuid?.()
  const denied = (path: string) => explain(error('EACCES', { path }), '/store.db')
  const whose = `${own} belongs to uid ${user} (mode 700), and this process, uid ${user}, may not write there. `
  const mend = `Make it writable (chmod u+rwX ${own}), or name another place in DATABASE_URL.`
  t.equal(denied(`${own}/deeper/store.db`), whose + mend)
  t.match(explain(error('EPERM'), `${own}/store.db`), `${own} belongs to uid ${user}`)
  let others = '/'
  if (user === 0) {
    others = temporaryFolder(t)
    chownSync(others, 65534, 65534)
  }
  const { uid } = statSync(others)
  const give = `or if no server uses it, give it to uid ${user} (chown ${user} ${others}); `
  const advice = `Run this as uid ${uid}, the owner; ${give}or name another place in DATABASE_URL.`
  t.match(denied(others), advice)
})

t.test('Explain: the advice for a place of the operator is another place', async (t) => {
  const folder = temporaryFolder(t)
  const say = (code: string, wanted: 'read' | 'write to', more = {}) => {
    const cause = error(code, { syscall: 'open', ...more })
    return (toOperatorError('Nothing was done', cause, `${folder}/x.db`, wanted) as Error).message
  }
  const nowhere = { path: '/no/x.db' }
  const uid = `Nothing was done: token-server runs as uid ${process.getuid?.()}, which may not`
  const output = 'Choose another place, or name - and redirect standard output.'
  for (const code of ['EACCES', 'EPERM']) t.equal(say(code, 'write to'), `${uid} write to ${folder}. ${output}`)
  t.equal(say('EROFS', 'write to'), `Nothing was done: the file system of ${folder} is read-only. ${output}`)
  t.equal(say('EACCES', 'read', nowhere), `${uid} read /. ${output.replace('output', 'input')}`)
  t.equal(say('ENOENT', 'read', nowhere), 'Nothing was done: there is no folder /no. Create it, or name another place.')
})

t.test('Explain: an error that an operator can fix is one sentence, and a bug stays a bug', async (t) => {
  const folder = temporaryFolder(t)
  const say = (error: unknown) => toOperatorError('Nothing was done', error, `${folder}/copy.db`)
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { syscall: 'write', code: 'ENOSPC' })
  for (const [cause, sentence] of [
    [full, `the disk is full. Free some space on the file system of ${folder}.`],
    [new OperatorError('The file is wrong.'), 'The file is wrong.'],
    [new OperatorError('it is damaged'), 'it is damaged.'],
  ] as const)
    t.match(say(cause), new OperatorError(`Nothing was done: ${sentence}`))
  const bug = new TypeError('x is not a function')
  t.equal(say(bug), bug)
})

t.test('SQLite: a version that can lose commits is refused', async (t) => {
  for (const version of ['3.51.3', '3.51.10', '3.52.0', '4.0.0']) t.doesNotThrow(() => assertSqliteVersion(version))
  for (const version of ['3.51.2', '3.50.7', '3.7.0', '2.99.99']) {
    const message = new RegExp(`is ${version}, .* npm ci`)
    t.throws(() => assertSqliteVersion(version), { name: 'OperatorError', message })
  }
})
