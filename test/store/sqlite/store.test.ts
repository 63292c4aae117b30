import { chmodSync, renameSync, statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import { AUDIT } from '../../support/audit.ts'
import { disk } from '../../support/hanging-disk.ts'
import { keyOf } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { START } from '../../support/world.ts'
import { storeConformance } from '../conformance.ts'

async function openFile(t: Test, file = join(temporaryFolder(t), 'store.db')) {
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 200 })
  t.teardown(() => store.close())
  return store
}

t.test('in a file', async (t) =>
  storeConformance(t, {
    open: (t) => openFile(t),
    openTwo: async (t) => {
      const file = join(temporaryFolder(t), 'store.db')
      return [await openFile(t, file), await openFile(t, file)]
    },
    openFragile: async (t) => {
      const file = join(temporaryFolder(t), 'store.db')
      return {
        store: await openFile(t, file),
        breakDown: () => renameSync(file, `${file}.gone`),
        recover: () => renameSync(`${file}.gone`, file),
      }
    },
    openWithoutAudit: async (t) => {
      const file = join(temporaryFolder(t), 'store.db')
      const store = await openFile(t, file)
      const hand = new Database(file)
      t.teardown(() => hand.close())
      const refuse = "BEFORE INSERT ON audit_events BEGIN SELECT RAISE(ABORT, 'refused'); END"
      return {
        store,
        refuse: () => void hand.exec(`CREATE TRIGGER refused ${refuse}`),
        accept: () => void hand.exec('DROP TRIGGER refused'),
      }
    },
    openHanging: async (t) => ({
      store: await openFile(t),
      hang() {
        disk.isHanging = true
      },
      recover: disk.recover,
    }),
  }),
)
t.test('in memory', async (t) => storeConformance(t, { open: (t) => openFile(t, ':memory:') }))

t.test('SQLite: the file and its folder are made, for the owner only', async (t) => {
  const folder = join(temporaryFolder(t), 'a', 'b')
  await openFile(t, join(folder, 'store.db'))
  t.equal(statSync(folder).mode & 0o777, 0o700)
  t.equal(statSync(join(folder, 'store.db')).mode & 0o777, 0o600)
  t.equal(statSync(join(folder, 'store.db-wal')).mode & 0o777, 0o600)
})

t.test('SQLite: a commit is on disk before it is answered', async (t) => {
  const db = openDatabase(join(temporaryFolder(t), 'store.db'), (db) => db)
  t.teardown(() => db.close())
  t.equal(db.pragma('journal_mode', { simple: true }), 'wal')
  t.equal(db.pragma('synchronous', { simple: true }), 2, 'FULL')
})

t.test('SQLite: a change by hand is seen from the next turn of the event loop on', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const store = await openFile(t, file)
  const secret = { digest: '$sha256$A', createdAt: START }
  const application = {
    clientId: 'a',
    name: 'A',
    developerEmail: 'a@b.example',
    createdAt: START,
    secret,
    suites: [],
    skipNamesake: false,
  }
  await store.register({ suites: [], applications: [application] }, AUDIT)
  t.equal((await store.findApplication('a'))?.secrets.length, 1)
  const hand = new Database(file)
  hand.exec('DELETE FROM secrets')
  hand.close()
  await nextTurn()
  t.strictSame((await store.findApplication('a'))?.secrets, [])
})

t.test('SQLite: tokens of one turn are one transaction', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const store = await openFile(t, file)
  const walFrames = () => statSync(`${file}-wal`).size
  const before = walFrames()
  await store.addToken(mintToken(keyOf(1), START).stored)
  const oneToken = walFrames() - before
  await Promise.all(Array.from({ length: 10 }, () => store.addToken(mintToken(keyOf(1), START).stored)))
  t.equal(walFrames() - before, 2 * oneToken, 'ten tokens write the page once more, not ten times')
})

t.test('SQLite: a locked database is waited for, then said to be unavailable; nobody is left hanging', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const store = await openFile(t, file)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const tokens = [mintToken(keyOf(1), START).stored, mintToken(keyOf(1), START).stored]
  const outcomes = await Promise.allSettled(tokens.map((token) => store.addToken(token)))
  for (const outcome of outcomes) t.type((outcome as PromiseRejectedResult).reason, StoreUnavailable)
  await t.rejects(store.setStatus('a', 'active', AUDIT), StoreUnavailable)
  other.exec('COMMIT')
  for (const { id } of tokens) t.equal(await store.findToken(id), undefined)
})

t.test(
  'SQLite: a request that reads after a change by hand sees it, though it read in the same turn before',
  async (t) => {
    const file = join(temporaryFolder(t), 'store.db')
    const store = await openFile(t, file)
    const hand = new Database(file)
    t.teardown(() => hand.close())
    const secret = { digest: '$sha256$A', createdAt: START }
    await store.register({ suites: [{ suiteId: 's', name: 'S', createdAt: START, secret }], applications: [] }, AUDIT)
    t.ok(await store.findSuite('s'))
    const found = Promise.withResolvers<unknown>()
    setImmediate(() => void store.findSuite('other'))
    void store.findApplication('a')
    setImmediate(() => {
      setTimeout(() => {
        hand.exec("DELETE FROM suites WHERE suite_id = 's'")
        store.findSuite('s').then(found.resolve, found.reject)
      }, 0)
      // Until the timer is due, so that it runs before the next immediates.
      const due = performance.now() + 3
      while (performance.now() < due);
    })
    t.equal(await found.promise, undefined)
  },
)

t.test('SQLite: who comes while the database is locked does not wait for longer than who came first', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const store = await openFile(t, file)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  const ended: number[] = []
  const writes = [0, 1, 2].map(async (n) => {
    await sleep(n * 50)
    await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), StoreUnavailable)
    ended.push(n)
    await nextTurn()
    t.equal(ended.length, 3, 'all end in one turn')
  })
  await Promise.all(writes)
})

t.test('SQLite: a file that was replaced is unavailable, for writing and for the readiness check', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const store = await openFile(t, file)
  renameSync(file, `${file}.gone`)
  await t.rejects(store.ping(), StoreUnavailable)
  renameSync(`${file}-wal`, `${file}.gone-wal`)
  await openFile(t, file)
  await t.rejects(store.ping(), StoreUnavailable)
  await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), StoreUnavailable)
})

t.test('SQLite: from a write that failed until one succeeds it is not ready', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const store = await openFile(t, file)
  const other = new Database(file)
  t.teardown(() => other.close())
  const fail = "BEGIN SELECT RAISE(ABORT, 'no space'); END"
  other.exec(
    `CREATE TRIGGER no_token BEFORE INSERT ON tokens ${fail}; CREATE TRIGGER no_change BEFORE UPDATE ON changes ${fail}`,
  )
  await t.resolves(store.ping())
  await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), StoreUnavailable)
  await t.rejects(store.ping(), StoreUnavailable)
  other.exec('DROP TRIGGER no_token; DROP TRIGGER no_change')
  await t.resolves(store.ping())
})

t.test('SQLite: files that cannot be seen are unavailable, and not a bug', async (t) => {
  const folder = temporaryFolder(t)
  const store = await openFile(t, join(folder, 'real', 'store.db'))
  renameSync(join(folder, 'real'), join(folder, 'gone'))
  // A folder that may not be searched answers EACCES, but not to root; a link to itself answers everybody.
  symlinkSync('real', join(folder, 'real'))
  const unseen = { name: 'StoreUnavailable', message: /^the file .*\/real\/store\.db cannot be seen: ELOOP/ }
  await t.rejects(store.ping(), unseen)
  await t.rejects(store.findSuite('a'), unseen)
  await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), unseen)
  unlinkSync(join(folder, 'real'))
  renameSync(join(folder, 'gone'), join(folder, 'real'))
  await t.resolves(store.ping())
})

t.test('SQLite: without one of its side files a database cannot be used', async (t) => {
  for (const suffix of ['-wal', '-shm']) {
    const file = join(temporaryFolder(t), 'store.db')
    const store = await openFile(t, file)
    unlinkSync(file + suffix)
    await t.rejects(store.ping(), StoreUnavailable)
    await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), StoreUnavailable)
    await t.rejects(store.findToken(mintToken(keyOf(1), START).stored.id), StoreUnavailable)
  }
})

t.test('SQLite: a database whose tables are not those of its version is refused with its name', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  await (await openStore({ kind: 'sqlite', file }, { lockTimeout: 0 })).close()
  const hand = new Database(file)
  hand.exec('DROP TABLE changes')
  hand.close()
  await t.rejects(openStore({ kind: 'sqlite', file }, { lockTimeout: 0 }), {
    name: 'StoreUnavailable',
    message: /store\.db cannot be opened: no such table/,
  })
})

t.test('SQLite: a bug while opening is not taken for a database that cannot be opened', async (t) => {
  await t.rejects(openStore({ kind: 'sqlite', file: 7 as unknown as string }, { lockTimeout: 0 }), TypeError)
})

t.test('SQLite: a file that is no database, or cannot be opened, is refused with its name', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  writeFileSync(file, 'not a database, but long enough to be taken for one '.repeat(100))
  await t.rejects(openStore({ kind: 'sqlite', file }, { lockTimeout: 0 }), {
    message: /store\.db.*file is not a database/,
  })
  chmodSync(file, 0o600)
  await t.rejects(openStore({ kind: 'sqlite', file: `${file}/deeper/store.db` }, { lockTimeout: 0 }), {
    message: /cannot be opened/,
  })
})
