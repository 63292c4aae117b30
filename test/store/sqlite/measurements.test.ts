import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openSqlite } from '../../../src/store/sqlite/store.ts'
import { keyOf } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { START } from '../../support/world.ts'

const token = () => mintToken(keyOf(1), START).stored

t.test('Measurements: each transaction of tokens is said, and each fsync, with how long it took', async (t) => {
  const events: Event[] = []
  const file = join(temporaryFolder(t), 'store.db')
  const store = openSqlite(file, { lockTimeout: 0, observe: (event) => events.push(event) })
  t.teardown(() => store.close())
  const [one, two, three] = [token(), token(), token()]
  await Promise.all([one, two, three].map(store.addToken))
  await Promise.all([store.revokeToken(one.id, START), store.addToken(token())])
  t.match(events, [
    { type: 'batch written', size: 3, seconds: Number },
    { type: 'disk synced', seconds: Number },
    { type: 'batch written', size: 2, seconds: Number },
    { type: 'disk synced', seconds: Number },
  ])
  for (const event of events) t.ok((event as { seconds: number }).seconds > 0)

  const other = new Database(file)
  t.teardown(() => other.close())
  other.exec('BEGIN IMMEDIATE')
  await t.rejects(store.addToken(token()))
  t.equal(events.length, 4, 'nothing was written')
})

t.test('Measurements: a store in memory has no disk', async (t) => {
  const events: Event[] = []
  const store = openSqlite(':memory:', { lockTimeout: 0, observe: (event) => events.push(event) })
  t.teardown(() => store.close())
  await store.addToken(token())
  t.match(events, [{ type: 'batch written', size: 1 }])
})

t.test('Measurements: the size of a database is that of its files', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const store = openSqlite(file, { lockTimeout: 0 })
  t.teardown(() => store.close())
  const before = await store.size()
  await Promise.all(Array.from({ length: 1000 }, () => store.addToken(token())))
  const after = await store.size()
  t.ok(Number(after.log) > Number(before.log) + 50_000)
  const hand = new Database(file)
  hand.pragma('wal_checkpoint(TRUNCATE)')
  hand.close()
  const copied = await store.size()
  t.equal(copied.log, 0)
  t.ok(copied.database > before.database + 50_000)
  const inMemory = openSqlite(':memory:', { lockTimeout: 0 })
  t.teardown(() => inMemory.close())
  t.strictSame(await inMemory.size(), { database: 0, log: 0 })
})
