import { renameSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Event, Observer } from '../../../src/domain/events.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { on } from '../../support/on.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { START } from '../../support/world.ts'
import { storeConformance } from '../conformance/conformance.ts'
import { allRefused, connect, newFile, newToken, open, openFile, openTables, refusal } from './databases.ts'

/** A store in a file, and another program's connection to the file. */
async function openWithHand(t: Test, observe: Observer = () => {}) {
  const file = newFile(t)
  return { file, store: await openFile(t, file, { observe }), hand: connect(t, file) }
}

t.test('in a file', async (t) =>
  storeConformance(t, {
    open: (t) => openFile(t),
    openTwo: async (t) => {
      const file = newFile(t)
      return [await openFile(t, file), await openFile(t, file)]
    },
    openFragile: async (t) => {
      const file = newFile(t)
      return {
        store: await openFile(t, file),
        breakDown: () => renameSync(file, `${file}.gone`),
        recover: () => renameSync(`${file}.gone`, file),
      }
    },
    openWithoutAudit: async (t) => {
      const { store, hand } = await openWithHand(t)
      const refuse = "BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'refused'); END"
      return {
        store,
        refuse: () => void hand.exec(`CREATE TRIGGER refused ${refuse}`),
        accept: () => void hand.exec('DROP TRIGGER refused'),
      }
    },
  }),
)

t.test('SQLite: a commit is on disk before it is answered', async (t) => {
  const db = openTables(t, newFile(t))
  t.equal(db.pragma('journal_mode', { simple: true }), 'wal')
  t.equal(db.pragma('synchronous', { simple: true }), 2, 'FULL')
})

t.test('SQLite: requests wait for a locked database, and then all fail at once', async (t) => {
  const { store, hand } = await openWithHand(t)
  hand.exec('BEGIN IMMEDIATE')
  const tokens = [newToken(), newToken(), newToken()]
  let ended = 0
  const writes = tokens.map(async (token, n) => {
    await sleep(n * 50)
    await t.rejects(store.addToken(token), StoreUnavailable)
    ended++
    await nextTurn()
    t.equal(ended, 3, 'all end in one turn')
  })
  await Promise.all(writes)
  await t.rejects(on(store).setStatus('a', 'active'), StoreUnavailable)
  await t.rejects(store.ping(), StoreUnavailable, 'it is not ready, although it can read')
  hand.exec('COMMIT')
  await store.ping()
  for (const { id } of tokens) t.equal(await store.findToken(id), undefined)
})

t.test('SQLite: without its file, log or index a database is unusable, even if there is another', async (t) => {
  for (const lost of ['-wal', '-shm', '']) {
    const file = newFile(t)
    const store = await openFile(t, file)
    renameSync(file + lost, `${file}.gone`)
    await t.rejects(store.ping(), StoreUnavailable)
    if (lost === '') {
      renameSync(`${file}-wal`, `${file}.gone-wal`)
      await openFile(t, file)
    }
    const { id } = newToken()
    await allRefused(t, [store.ping, () => store.addToken(newToken()), () => store.findToken(id)], {
      name: 'StoreUnavailable',
    })
  }
})

t.test('SQLite: after a failed write it is not ready until a write succeeds', async (t) => {
  const { store, hand } = await openWithHand(t)
  const fail = "BEGIN SELECT RAISE(ABORT, 'no space'); END"
  hand.exec(`CREATE TRIGGER no_token BEFORE INSERT ON tokens ${fail}`)
  hand.exec(`CREATE TRIGGER no_change BEFORE UPDATE ON changes ${fail}`)
  await t.resolves(store.ping())
  await t.rejects(store.addToken(newToken()), StoreUnavailable)
  await t.rejects(store.ping(), StoreUnavailable)
  hand.exec('DROP TRIGGER no_token; DROP TRIGGER no_change')
  await t.resolves(store.ping())
})

t.test('SQLite: files that are not visible are a StoreUnavailable, not a bug', async (t) => {
  const folder = temporaryFolder(t)
  const store = await openFile(t, join(folder, 'real', 'store.db'))
  renameSync(join(folder, 'real'), join(folder, 'gone'))
  // A folder that may not be searched answers EACCES, but not to root; a link to itself fails for every user.
  symlinkSync('real', join(folder, 'real'))
  const unseen = { name: 'StoreUnavailable', message: /^the file .*\/real\/store\.db cannot be seen: ELOOP/ }
  await allRefused(t, [store.ping, () => store.findSuite('a'), () => store.addToken(newToken())], unseen)
  unlinkSync(join(folder, 'real'))
  renameSync(join(folder, 'gone'), join(folder, 'real'))
  await t.resolves(store.ping())
})

t.test('SQLite: a file that is not a database of this version is refused with its name', async (t) => {
  const file = newFile(t)
  await (await open(file)).close()
  connect(t, file).exec('DROP TABLE changes')
  await t.rejects(open(file), { name: 'StoreUnavailable', message: /store\.db cannot be opened: no such table/ })
  const none = newFile(t)
  for (const [one, options] of Object.entries({ [none]: {}, [`${none}-wal`]: { recover: true } })) {
    writeFileSync(one, 'not a database, but long enough for one '.repeat(100))
    t.match(await refusal(none, options), /store\.db cannot be opened: file is not a database/)
  }
  t.match(await refusal(`${file}/deeper/store.db`), /cannot be opened/)
  await t.rejects(open(7 as unknown as string), TypeError, 'a bug is not taken for such a file')
})

t.test('Measurements: the tokens of one turn are one transaction; it is reported, and so is each fsync', async (t) => {
  const events: Event[] = []
  const { file, store, hand } = await openWithHand(t, (event) => events.push(event))
  const walSize = () => statSync(`${file}-wal`).size
  const [one, before] = [newToken(), walSize()]
  await store.addToken(one)
  const oneToken = walSize() - before
  await Promise.all(Array.from({ length: 10 }, () => store.addToken(newToken())))
  t.equal(walSize() - before, 2 * oneToken, 'ten tokens write the page once more, not ten times')
  await Promise.all([store.revokeToken(one.id, START), store.addToken(newToken())])
  const seconds = Number
  const expected = [1, 10, 2].flatMap((size) => [
    { type: 'batch written', size, seconds },
    { type: 'disk synced', seconds },
  ])
  t.match(events, expected)
  for (const event of events) t.ok((event as { seconds: number }).seconds > 0)

  hand.exec('BEGIN IMMEDIATE')
  await t.rejects(store.addToken(newToken()))
  t.equal(events.length, 6, 'nothing was written')
})

t.test('Measurements: a store in memory has no disk, and no size', async (t) => {
  const events: Event[] = []
  const store = await openFile(t, ':memory:', { observe: (event: Event) => events.push(event) })
  const token = newToken()
  await store.addToken(token)
  t.match(events, [{ type: 'batch written', size: 1 }])
  t.match(await store.findToken(token.id), { stored: token })
  t.strictSame((await store.measure(0)).size, { database: 0, log: 0 })
  await store.ping()
  t.equal(await store.backlog(), undefined)
})

t.test('Measurements: the size of a database is that of its files', async (t) => {
  const { store, hand } = await openWithHand(t)
  const before = (await store.measure(0)).size
  await Promise.all(Array.from({ length: 300 }, () => store.addToken(newToken())))
  const after = (await store.measure(0)).size
  t.ok(Number(after.log) > Number(before.log) + 15_000)
  hand.pragma('wal_checkpoint(TRUNCATE)')
  const copied = (await store.measure(0)).size
  t.equal(copied.log, 0)
  t.ok(copied.database > before.database + 15_000)
})
