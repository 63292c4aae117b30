import { statSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { createChanges } from '../../../src/store/shared/changes.ts'
import { createUsage } from '../../../src/store/shared/parts.ts'
import { createCachedRegistry } from '../../../src/store/sqlite/changes.ts'
import { createCheckpoints } from '../../../src/store/sqlite/checkpoints.ts'
import { createContext, createShared } from '../../../src/store/sqlite/context.ts'
import { createPurge } from '../../../src/store/sqlite/purge.ts'
import { createRetryLocked } from '../../../src/store/sqlite/retry-locked.ts'
import { createTokens } from '../../../src/store/sqlite/tokens.ts'
import { on } from '../../support/on.ts'
import { connect, newFile, newToken, openTables } from './databases.ts'

const LARGE = 256 * 1024
const FULL = 512 * 1024

function createDatabase(t: Test) {
  const file = newFile(t)
  const db = openTables(t, file)
  db.pragma('busy_timeout = 0')
  const other = connect(t, file, { timeout: 0 })
  const disk = { isAnswering: true }
  const checkpoints = createCheckpoints(db, {
    distrust() {},
    assertWritable() {
      if (!disk.isAnswering) throw new StoreUnavailable('no answer')
    },
    pages: 20,
    large: LARGE,
    full: FULL,
  })
  other.exec('CREATE TABLE filler (content BLOB)')
  other.pragma('wal_autocheckpoint = 0')
  other.pragma('wal_checkpoint(TRUNCATE)')
  /** A commit of so many bytes, by another process. */
  const write = (bytes: number) => other.prepare('INSERT INTO filler VALUES (zeroblob(?))').run(bytes)
  const inTheLog = () => {
    const { log, checkpointed } = db.prepare('PRAGMA wal_checkpoint(NOOP)').get() as Record<string, number>
    return (log as number) - (checkpointed as number)
  }
  const commits = (count: number) => {
    for (let n = 0; n < count; n++) {
      checkpoints.countCommit()
      checkpoints.checkpointIfDue()
    }
  }
  /** Another process that reads an old state of the database until it is stopped. */
  const startReader = () => {
    const reader = connect(t, file, { readonly: true })
    reader.exec('BEGIN')
    reader.prepare('SELECT count(*) FROM applications').get()
    return () => reader.exec('COMMIT')
  }
  const walSize = () => statSync(`${file}-wal`).size
  return { ...checkpoints, write, inTheLog, commits, startReader, walSize, disk }
}

t.test('Checkpoints: the log is checked after some commits, and copied when it has some pages', async (t) => {
  const { backlog, countCommit, checkpointIfDue, write, inTheLog, commits } = createDatabase(t)
  write(4096)
  commits(16)
  t.ok(inTheLog() > 0, 'too little to be copied')
  write(LARGE / 2)
  commits(15)
  t.ok(inTheLog() > 20)
  commits(1)
  t.equal(inTheLog(), 0)

  write(LARGE / 2)
  for (let n = 0; n < 40; n++) countCommit()
  t.ok(inTheLog() > 20, 'a commit alone copies nothing, because the disk may not be answering')
  checkpointIfDue()
  t.equal(inTheLog(), 0)
  write(LARGE / 2)
  t.equal(backlog(), undefined)
  t.equal(inTheLog(), 0, 'what is due is copied also where no commit waits for the disk')
})

t.test('Checkpoints: a log that a reader keeps from being copied or emptied is reported with its size', async (t) => {
  const { backlog, write, startReader, walSize } = createDatabase(t)
  const stop = startReader()
  write(LARGE / 2)
  t.equal(backlog(), undefined, 'not large yet')
  write(LARGE)
  t.strictSame(backlog(), { bytes: walSize(), cause: 'a reader still needs an old state' })
  t.ok(walSize() > LARGE)
  stop()
  t.equal(backlog(), undefined)
  t.equal(walSize(), 0)
  write(2 * LARGE)
  startReader()
  const inUse = { bytes: walSize(), cause: 'another process is always reading or writing' }
  t.strictSame(backlog(), inUse, 'it is copied, but in use')
})

t.test('Checkpoints: nothing is written to a full log until it has been emptied', async (t) => {
  const { assertLogNotFull, write, commits, startReader, disk } = createDatabase(t)
  const stop = startReader()
  write(FULL)
  t.doesNotThrow(assertLogNotFull, 'it is looked at after some commits only')
  commits(16)
  t.throws(assertLogNotFull, { name: 'StoreUnavailable', message: /reached its limit: a reader still needs/ })
  t.throws(assertLogNotFull)
  stop()
  disk.isAnswering = false
  t.throws(assertLogNotFull, { message: 'no answer' }, 'nor is it copied while the disk does not answer')
  disk.isAnswering = true
  t.doesNotThrow(assertLogNotFull)
  write(4096)
  commits(16)
  t.doesNotThrow(assertLogNotFull)
})

t.test('Checkpoints: a failure is reported with its cause; after a failed fsync the disk is not trusted', async (t) => {
  const failures: unknown[] = []
  const create = (error: Error) => {
    const get = () => {
      throw error
    }
    const name = join(import.meta.dirname, '../conformance')
    const failing = { name, pragma: () => 4096, prepare: () => ({ get }) } as unknown as Database.Database
    return createCheckpoints(failing, { distrust: (cause) => failures.push(cause), assertWritable() {}, large: 0 })
  }
  const full = new Database.SqliteError('database or disk is full', 'SQLITE_FULL')
  t.match(create(full).backlog(), { cause: 'database or disk is full (SQLITE_FULL)' })
  t.strictSame(failures, [])
  const fsync = new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')
  t.match(create(fsync).backlog(), { cause: 'disk I/O error (SQLITE_IOERR_FSYNC)' })
  t.ok(failures.length > 0 && failures.every((failure) => failure === fsync))
  t.throws(() => create(new TypeError('a bug')).backlog(), TypeError)
})

t.test('Full log: the room in the log is checked before every write, outside its transaction', async (t) => {
  const db = openTables(t, newFile(t))
  const retryLocked = createRetryLocked('a.db', 0, { onError() {}, distrust() {} })
  const looks: boolean[] = []
  const assertLogNotFull = () => void looks.push(db.inTransaction)
  const others = { assertUsable() {}, assertWritable() {}, countCommit() {}, async committed() {} }
  const context = createContext(db, { retryLocked, assertLogNotFull, ...others })
  const shared = createShared(context, () => {})
  const { applicationOf } = createCachedRegistry(db, context.changes, context.reader)
  const tokens = createTokens(context, applicationOf, () => {})
  const usage = createUsage(shared)
  const token = newToken()
  await tokens.addToken(token)
  await createPurge(context)('tokens', token.issuedAt, 1)
  await on(createChanges(shared)).setStatus('a', 'active')
  await usage.addTokenCounts([])
  t.strictSame(looks, [false, false, false, false])
})
