import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import { startFlushLoop } from '../../src/server/flush-loop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorld, START } from '../support/world.ts'

const NEVER = 1_000_000_000

t.test('Flushes: usage is stored again and again, and what failed is told and tried again', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { issuer, token, administration, credentials } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const tokens = async () => (await administration.list())[0]?.tokensThisHour
  const db = new Database(file)
  t.teardown(() => db.close())
  db.exec("CREATE TRIGGER fails BEFORE INSERT ON token_counts BEGIN SELECT RAISE(ABORT, 'full'); END")
  await token()
  const errors: unknown[] = []
  const loop = startFlushLoop(() => issuer.flushUsage(() => {}), { interval: 1, onError: (err) => errors.push(err) })
  t.teardown(loop.stop)
  await until(() => errors.length > 1)
  t.match(errors[1], { name: 'StoreUnavailable' })
  t.equal(await tokens(), 0)
  db.exec('DROP TRIGGER fails')
  await until(async () => (await tokens()) === 1)
  await token()
  await until(async () => (await tokens()) === 2)
  t.equal((await administration.show(credentials.client_id)).lastTokenAt, START)
})

t.test('Flushes: what is counted while a loop is stopped amid one is flushed too', async (t) => {
  const amid = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  let counted = 1
  let flushed = 0
  async function flush(): Promise<void> {
    flushed += counted
    counted = 0
    if (flushed > 1) return
    counted = 1
    amid.resolve()
    await stopped.promise
  }
  const loop = startFlushLoop(flush, { interval: 1, onError: (error) => t.fail(String(error)) })
  await amid.promise
  const stop = loop.stop()
  stopped.resolve()
  await stop
  t.equal(flushed, 2)
})

t.test('Flushes: a loop that is stopped flushes what is left, and tells where it could not', async (t) => {
  let flushed = 0
  const loop = startFlushLoop(async () => void flushed++, { interval: NEVER, onError: () => t.fail() })
  await loop.stop()
  t.equal(flushed, 1)
  const errors: unknown[] = []
  const failing = startFlushLoop(() => Promise.reject(new Error('full')), {
    interval: NEVER,
    onError: (error) => errors.push(error),
  })
  await failing.stop()
  t.match(errors, [{ message: 'full' }])
})
