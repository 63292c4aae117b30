import { stat } from 'node:fs/promises'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import type { Application } from '../../../src/domain/application.ts'
import { type Store, StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken, type StoredToken } from '../../../src/domain/token.ts'
import { createIssuer } from '../../../src/issuer/issuer.ts'
import { createDisk } from '../../../src/store/sqlite/disk.ts'
import { failures } from '../../support/failures.ts'
import { disk } from '../../support/hanging-disk.ts'
import { isReady } from '../../support/is-ready.ts'
import { on } from '../../support/on.ts'
import { until } from '../../support/until.ts'
import { START } from '../../support/world.ts'
import { findStored, newKey, register, registerSuites, SECRET } from '../conformance/harness.ts'
import { allRefused, connect, newFile, newToken, openFile } from './databases.ts'

t.test('Disk: after a failed fsync nothing counts as on disk, and the mark is set until it stays', async (t) => {
  const faulty = { error: undefined as Error | undefined, isSound: true, calls: 0, marks: 0 }
  const { flush, assertTrusted, assertAnswering } = createDisk({
    fsync: async () => {
      faulty.calls++
      if (faulty.error) throw faulty.error
    },
    assertSound() {
      if (!faulty.isSound) throw new Error('marked')
    },
    mark: () => faulty.marks++,
  })
  await Promise.all([flush(), flush()])
  t.match(faulty, { calls: 2, marks: 0 })
  for (const assert of [assertTrusted, assertAnswering]) t.doesNotThrow(assert)
  faulty.isSound = false
  await t.rejects(flush(), { message: 'marked' }, "what is not on another process's disk is not on this one's")
  faulty.isSound = true

  faulty.error = new Error('EIO')
  const error = { name: 'StoreUnavailable', cause: { message: 'EIO' } }
  await t.rejects(flush(), error)
  t.ok(faulty.marks > 0)
  faulty.error = undefined
  await t.rejects(flush(), error)
  const { marks } = faulty
  t.throws(assertTrusted, error)
  t.equal(faulty.marks, marks + 1)
})

t.test('Disk: a pause of the whole process is not taken for one of the disk', async (t) => {
  const { flush } = createDisk({ fsync: () => stat('/'), assertSound: () => {}, mark: () => {} })
  const flushed = flush()
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2100)
  await t.resolves(flushed)
})

/** The next fsync, which waits until it is answered. */
async function nextFlush(): Promise<(error?: Error) => void> {
  await until(() => disk.waiting.length > 0)
  return disk.waiting.shift() as (error?: Error) => void
}

const token = newToken()
const WRITES: Record<string, (store: Store) => Promise<unknown>> = {
  'a suite': (store) => registerSuites(store, 's'),
  'a new secret': (store) => on(store).rotateSecret('s', SECRET, START, START),
  'a token': (store) => store.addToken(token),
  'a revocation': (store) => store.revokeToken(token.id, START),
}

t.test('SQLite: a change is answered when it is on disk, not before', async (t) => {
  const store = await openFile(t)
  disk.isHanging = true
  for (const [what, write] of Object.entries(WRITES)) {
    let answered = false
    const written = write(store).then(() => (answered = true))
    const flushed = await nextFlush()
    for (let turn = 0; turn < 10; turn++) await nextTurn()
    t.equal(answered, false, what)
    flushed()
    await written
  }
})

t.test('RFC 7009 §2.2: a revocation is answered when it is on disk, even the second one of a token', async (t) => {
  const file = newFile(t)
  const [one, other] = [await openFile(t, file), await openFile(t, file)]
  await register(one, 'a')
  const application = (await one.findApplication('a')) as Application
  const issuerOf = (store: Store) =>
    createIssuer({ store, failures: failures(), observe: () => {}, publicUrl: '', now: () => START })
  const { accessToken } = await issuerOf(one).issue(application)
  disk.isHanging = true
  let answers = 0
  const revoke = async (store: Store) => {
    await issuerOf(store).revoke(application, accessToken)
    answers++
  }

  const first = revoke(one)
  const flushed = await nextFlush()
  const again = [revoke(one), revoke(other)]
  const otherFlushed = await nextFlush()
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  t.equal(answers, 0, 'in the same process and in another one')
  otherFlushed()
  await again[1]
  t.equal(answers, 1)
  flushed()
  await first
  ;(await nextFlush())()
  await again[0]
})

t.test('Hanging disk: changes are refused after some seconds, then at once; reads continue', async (t) => {
  const store = await openFile(t)
  const key = await newKey(store)
  const tokens = [1, 2, 3, 4].map((n) => mintToken(key, START + n).stored)
  const [known, first, second, third] = tokens as [StoredToken, StoredToken, StoredToken, StoredToken]
  await store.addToken(known)
  disk.isHanging = true
  const underWay = store.addToken(first)
  await until(() => disk.waiting.length > 0)
  const revocation = store.revokeToken(known.id, START)
  const later: Promise<unknown>[] = [store.addToken(second), revocation, on(store).withdraw('owner', 'a')]
  await Promise.all([underWay, ...later].map((promise) => t.rejects(promise, StoreUnavailable)))

  const { length } = disk.waiting
  const noAnswer = { name: 'StoreUnavailable', message: /the disk has not answered for 2 seconds/ }
  await allRefused(t, [store.ping, store.backlog, () => store.addToken(third), () => register(store, 'b')], noAnswer)
  t.equal(disk.waiting.length, length, 'it is not asked again, which would take the next thread')
  t.strictSame(await findStored(store, known.id), known)
  t.equal((await store.findApplication('owner'))?.clientId, 'owner')

  disk.recover()
  await until(() => isReady(store))
  for (const { id } of [second, third]) t.equal(await findStored(store, id), undefined, 'it is not written')
  t.equal(await store.findApplication('b'), undefined)
  t.strictSame(await findStored(store, known.id), known)
  await store.addToken(second)
  t.strictSame(await findStored(store, second.id), second, 'it recovers by itself')

  disk.isHanging = true
  await Promise.all([t.rejects(store.addToken(newToken()), StoreUnavailable), store.close(), store.close()])
  const asked = disk.waiting.length
  await store.close()
  t.equal(disk.waiting.length, asked, 'closing does not wait for it, nor ask it again')
})

t.test('Hanging disk: when many wait, more are refused at once and never written', async (t) => {
  const store = await openFile(t)
  const key = await newKey(store)
  const tokens = Array.from({ length: 3000 }, (_, n) => mintToken(key, START + n).stored)
  disk.isHanging = true
  const refused = new Set<StoredToken>()
  const all = Promise.all(tokens.map((token) => store.addToken(token).catch(() => refused.add(token))))
  await until(() => disk.waiting.length > 0)
  const count = refused.size
  t.ok(count > 0 && count < tokens.length)
  disk.recover()
  await all
  t.equal(refused.size, count, 'nobody else is refused')
  const found = await Promise.all(tokens.map(({ id }) => findStored(store, id)))
  t.ok(found.every((token, n) => (token === undefined) === refused.has(tokens[n] as StoredToken)))
})

t.test('Hanging disk: a write that is not awaited makes no checkpoint, which would block', async (t) => {
  const file = newFile(t)
  const store = await openFile(t, file)
  const other = connect(t, file)
  other.pragma('wal_autocheckpoint = 0')
  other.exec('CREATE TABLE filler (content BLOB); INSERT INTO filler VALUES (zeroblob(20000000))')
  const copied = () => (other.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { checkpointed: number }).checkpointed
  const before = copied()
  disk.isHanging = true
  for (let n = 0; n < 40; n++) {
    await store.purge('tokens', START, 10)
    await store.addTokenCounts([])
  }
  t.equal(copied(), before)
  disk.recover()
  await store.addToken(newToken())
  t.ok(copied() > before, 'and then the next change that waits for the disk does')
})
