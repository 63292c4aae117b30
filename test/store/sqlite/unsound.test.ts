import { randomBytes } from 'node:crypto'
import fs, { chmodSync, copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import { recoverLog, rewriteLog } from '../../../src/store/sqlite/disk.ts'
import { isUnsound } from '../../../src/store/sqlite/files.ts'
import { createRetryLocked } from '../../../src/store/sqlite/retry-locked.ts'
import { disk } from '../../support/hanging-disk.ts'
import { on } from '../../support/on.ts'
import { until } from '../../support/until.ts'
import { allRefused, connect, leftOf, newFile, newToken, open, openFile, replacing } from './databases.ts'

const REFUSED = { name: 'StoreUnavailable', message: /an fsync has failed in another process/ }
const NOT_ALONE = {
  name: 'StoreUnavailable',
  message: /store\.db cannot be opened: an fsync has failed, .* End every process .* do not delete .*store\.db-wal, /,
}

/** How many bytes an action writes. */
async function writtenBy(action: () => unknown): Promise<number> {
  const { writeSync } = fs
  let bytes = 0
  const write = (descriptor: number, chunk: Buffer, from: number, length: number, at: number) => {
    bytes += length
    return writeSync(descriptor, chunk, from, length, at)
  }
  await replacing('writeSync', write, action)
  return bytes
}

/** A database with tokens in its log, as the death of its only process leaves it. */
async function crashed(t: Test, { isMarked = false } = {}) {
  const original = newFile(t)
  const store = await openFile(t, original)
  const tokens = Array.from({ length: 100 }, newToken)
  for (const token of tokens) await store.addToken(token)
  const file = leftOf(t, original)
  if (isMarked) chmodSync(`${file}-wal`, 0o1600)
  /** How many tokens the file of the database has, without its log. */
  const inTheFile = () => {
    const alone = newFile(t)
    copyFileSync(file, alone)
    try {
      return connect(t, alone).prepare('SELECT count(*) FROM tokens').pluck().get()
    } catch {
      return 0
    }
  }
  return { file, inTheFile, tokens }
}

t.test('Unsound: after a failed fsync every process refuses requests, and none can open the database', async (t) => {
  const file = newFile(t)
  const events: Event[] = []
  const one = await openFile(t, file, { observe: (event: Event) => events.push(event) })
  const other = await openFile(t, file)
  const token = newToken()
  await one.addToken(token)
  events.length = 0
  disk.failsNext = true
  await t.rejects(one.addToken(newToken()), { cause: { message: 'EIO' } })
  t.match(events, [{ type: 'batch written' }, { type: 'disk synced', seconds: Number }], 'it took its time as well')
  t.ok(isUnsound(file))
  disk.isHanging = true
  await t.rejects(one.addToken(newToken()), StoreUnavailable)
  t.equal(disk.waiting.length, 0, 'and is not even tried again')
  disk.recover()

  const change = () => on(other).setStatus('a', 'active')
  await allRefused(t, [other.ping, () => other.findToken(token.id), () => other.addToken(newToken()), change], REFUSED)
  await t.rejects(one.findToken(token.id), StoreUnavailable)
  for (const options of [{}, { recover: true }]) await t.rejects(open(file, options), NOT_ALONE)

  chmodSync(`${file}-wal`, 0o600)
  await t.rejects(one.ping(), StoreUnavailable)
  t.ok(isUnsound(file), 'a mark that was lost is set again')
  await one.close()
  await other.close()
  t.ok(existsSync(`${file}-wal`), 'and no process made a checkpoint at the end')
  t.ok(isUnsound(file))
})

t.test("Unsound: a write during another process's failed fsync is not acknowledged", async (t) => {
  const file = newFile(t)
  const [one, other] = [await openFile(t, file), await openFile(t, file)]
  // A first change takes longer: it loads the views.
  await on(one).setStatus('a', 'active')
  disk.isHanging = true
  const written = other.addToken(newToken())
  await until(() => disk.waiting.length === 1)
  const failed = t.rejects(on(one).setStatus('a', 'active'), StoreUnavailable)
  await until(() => disk.waiting.length === 2)
  disk.waiting.pop()?.(new Error('EIO'))
  await failed
  disk.recover()
  await t.rejects(written, REFUSED)
})

t.test('Unsound: a marked database is first recovered, by a process that has it alone', async (t) => {
  const { file, inTheFile, tokens } = await crashed(t, { isMarked: true })
  const reader = connect(t, file, { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM tokens').get()
  for (const options of [{}, { recover: true }]) await t.rejects(open(file, options), NOT_ALONE)
  t.ok(isUnsound(file))
  reader.close()
  t.equal(inTheFile(), 0)
  chmodSync(`${file}-wal`, 0o1600)
  const store = await openFile(t, file)
  t.notOk(isUnsound(file))
  t.equal(statSync(`${file}-wal`).size, 0)
  t.equal(inTheFile(), 100)
  for (const { id } of tokens) t.ok(await store.findToken(id))
  await store.addToken(newToken())
})

t.test('Unsound: a starting server flushes the log to disk, marked or not; a command does not', async (t) => {
  const { file, inTheFile } = await crashed(t)
  await openFile(t, file)
  t.equal(inTheFile(), 0)
  const server = await openFile(t, file, { recover: true })
  t.equal(inTheFile(), 0, 'nor does a server beside another process: that would know of a failed fsync')
  await t.resolves(server.ping())

  const second = await crashed(t)
  await openFile(t, second.file, { recover: true })
  t.equal(second.inTheFile(), 100)
  t.equal(statSync(`${second.file}-wal`).size, 0)

  const empty = newFile(t)
  await (await open(empty, { recover: true })).close()
  writeFileSync(`${empty}-wal`, '', { mode: 0o600 })
  chmodSync(`${empty}-wal`, 0o1600)
  await openFile(t, empty)
  t.notOk(isUnsound(empty), 'the mark of an empty log is removed')
})

t.test('Unsound: before its checkpoint the log is overwritten with the same bytes', async (t) => {
  const large = newFile(t)
  const log = randomBytes(2.5 * 1024 * 1024)
  writeFileSync(`${large}-wal`, log)
  t.equal(await writtenBy(() => rewriteLog(large)), log.length)
  t.ok(readFileSync(`${large}-wal`).equals(log))

  const { file } = await crashed(t, { isMarked: true })
  const { size } = statSync(`${file}-wal`)
  t.equal(await writtenBy(() => recoverLog(file)), size)
  t.notOk(existsSync(`${file}-wal`))
})

t.test('Unsound: a database whose log cannot be written to disk is marked, and not opened', async (t) => {
  const { file, inTheFile } = await crashed(t)
  const fail = () => {
    throw Object.assign(new Error('EIO: i/o error, write'), { code: 'EIO', syscall: 'write' })
  }
  const message = /its log cannot be written to the disk: EIO: i\/o error, write\. Then start again\. Until that has/
  const refused = () => t.rejects(open(file, { recover: true }), { name: 'StoreUnavailable', message })
  await replacing('writeSync', fail, refused)
  t.ok(isUnsound(file))
  t.equal(inTheFile(), 0, 'no checkpoint was made')
})

t.test("Unsound: an fsync of SQLite's own that fails marks the database too", async (t) => {
  const failure = new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC')
  const failing = () => {
    throw failure
  }
  const file = newFile(t)
  const message = /cannot be opened: disk I\/O error \(SQLITE_IOERR_FSYNC\)\.$/
  t.throws(() => openDatabase(file, failing), { message })
  t.ok(isUnsound(file))

  const failures: unknown[] = []
  const retryLocked = createRetryLocked('a.db', 0, { onError() {}, distrust: (cause) => failures.push(cause) })
  await t.rejects(retryLocked(failing), { message: /^the database a.db answered SQLITE_IOERR_FSYNC: / })
  t.strictSame(failures, [failure])
})
