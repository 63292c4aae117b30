import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { disk } from '../../support/hanging-disk.ts'
import { keyOf } from '../../support/keys.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { START } from '../../support/world.ts'

const newToken = () => mintToken(keyOf(1), START).stored

async function open(t: Test) {
  const file = join(temporaryFolder(t), 'store.db')
  const store = await openStore({ kind: 'sqlite', file }, { lockTimeout: 200 })
  t.teardown(() => {
    disk.recover()
    return store.close()
  })
  return { file, store }
}

t.test('Hanging disk: what nobody waits for makes no checkpoint, which would block', async (t) => {
  const { file, store } = await open(t)
  const other = new Database(file)
  t.teardown(() => other.close())
  other.pragma('wal_autocheckpoint = 0')
  other.exec('CREATE TABLE filler (content BLOB); INSERT INTO filler VALUES (zeroblob(20000000))')
  const copied = () => (other.prepare('PRAGMA wal_checkpoint(NOOP)').get() as { checkpointed: number }).checkpointed
  const before = copied()

  disk.isHanging = true
  for (let n = 0; n < 40; n++) {
    await store.purgeTokens(newToken().id, 10)
    await store.addTokenCounts([])
  }
  t.equal(copied(), before)
  disk.recover()
  await store.addToken(newToken())
  t.ok(copied() > before, 'and then the next change that waits for the disk does')
})

t.test('Hanging disk: one that has not answered is not asked again, which would take the next thread', async (t) => {
  const { store } = await open(t)
  disk.isHanging = true
  const NO_ANSWER = { name: 'StoreUnavailable', message: /the disk has not answered/ }
  await t.rejects(store.addToken(newToken()), NO_ANSWER)
  t.equal(disk.waiting.length, 1)
  for (let n = 0; n < 5; n++) await t.rejects(store.backlog(), NO_ANSWER)
  await store.close()
  t.equal(disk.waiting.length, 1)
})
