import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { mintToken } from '../../src/domain/token.ts'
import { purge } from '../../src/issuer/purge.ts'
import { keyOf } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 3_600_000

t.test('Purge: counts of tokens are kept for two days', async (t) => {
  const { store, clock, token, flushUsage } = await createWorld(t)
  const now = () => clock.time
  await token()
  await flushUsage()
  clock.time += 48 * HOUR
  await purge({ store, now })
  t.equal((await store.listTokenCounts(0)).length, 1)
  clock.time += HOUR
  t.equal(await purge({ store, now }), false)
  t.strictSame(await store.listTokenCounts(0), [])
})

function rowsOf(t: Test, file: string): () => number {
  const db = new Database(file)
  t.teardown(() => db.close())
  return () => db.prepare('SELECT count(*) FROM tokens').pluck().get() as number
}

t.test('The contract: a token lives 60 minutes, then the purge takes it and not before', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { store, clock } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const now = () => clock.time
  const rows = rowsOf(t, file)
  await store.addToken(mintToken(keyOf(1), START).stored)
  clock.time = START + HOUR - 1
  t.equal(await purge({ store, now }), false)
  t.equal(rows(), 1)
  clock.time = START + HOUR
  t.equal(await purge({ store, now }), false)
  t.equal(rows(), 0)
})
