import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import { mintToken } from '../../src/domain/token.ts'
import { purgeStep, startPurge } from '../../src/issuer/purge.ts'
import { createWorld, START, temporaryFolder } from '../support/world.ts'

const HOUR = 3_600_000

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5)
}

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
  await store.addToken(mintToken(1, START).stored)
  clock.time = START + HOUR - 1
  t.equal(await purgeStep({ store, now }), false)
  t.equal(rows(), 1)
  clock.time = START + HOUR
  t.equal(await purgeStep({ store, now }), false)
  t.equal(rows(), 0)
})

t.test('Purge: in the background, step by step, until the table is empty; a failed step is tried again', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { store, clock } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  await Promise.all(Array.from({ length: 1501 }, () => store.addToken(mintToken(1, START).stored)))
  const other = new Database(file)
  t.teardown(() => other.close())
  const rows = rowsOf(t, file)
  t.equal(rows(), 1501)

  const errors: unknown[] = []
  other.exec('BEGIN IMMEDIATE')
  const hasty = startPurge({ store, now: () => clock.time + HOUR, onError: (error) => errors.push(error) })
  await until(() => errors.length > 0)
  await hasty.stop()
  t.equal(rows(), 1501)
  other.exec('COMMIT')

  const purge = startPurge({ store, now: () => clock.time + HOUR, onError: (error) => errors.push(error) })
  await until(() => rows() === 0)
  await purge.stop()
  t.equal(errors.length, 1)
})
