import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { mintToken } from '../../src/domain/token.ts'
import { startPurgeLoop } from '../../src/server/purge-loop.ts'
import { keyOf } from '../support/keys.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 3_600_000

t.test('Purge: in the background, step by step, until the table is empty; a failed step is tried again', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { store, clock } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const add = (length: number) =>
    Promise.all(Array.from({ length }, () => store.addToken(mintToken(keyOf(1), START).stored)))
  await add(1000)
  await add(501)
  const other = new Database(file)
  t.teardown(() => other.close())
  const rows = () => other.prepare('SELECT count(*) FROM tokens').pluck().get()
  t.equal(rows(), 1501)

  const events: Event[] = []
  other.exec('BEGIN IMMEDIATE')
  const options = {
    store,
    now: () => clock.time + HOUR,
    monotonic: () => 0,
    observe: (event: Event) => events.push(event),
  }
  const hasty = startPurgeLoop(options)
  await until(() => events.length > 0)
  await hasty.stop()
  t.equal(rows(), 1501)
  other.exec('COMMIT')

  const loop = startPurgeLoop(options)
  await until(() => rows() === 0)
  await loop.stop()
  const [failed, ...purged] = events
  t.match(failed, { type: 'purge failed', err: { name: 'StoreUnavailable' } })
  t.strictSame(
    purged,
    [500, 500, 500, 1].map((count) => ({ type: 'tokens purged', count })),
  )
})
