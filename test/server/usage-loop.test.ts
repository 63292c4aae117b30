import { join } from 'node:path'
import Database from 'better-sqlite3'
import t from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { startUsageLoop } from '../../src/server/usage-loop.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorld, START } from '../support/world.ts'

const NEVER = 1_000_000_000

t.test('Usage: it is stored again and again, and what failed is told and tried again', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const { issuer, token, administration, credentials } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const tokens = async () => (await administration.list())[0]?.tokensThisHour
  const db = new Database(file)
  t.teardown(() => db.close())
  db.exec("CREATE TRIGGER fails BEFORE INSERT ON token_counts BEGIN SELECT RAISE(ABORT, 'full'); END")
  await token()
  const events: Event[] = []
  const loop = startUsageLoop({ issuer, observe: (event) => events.push(event) }, 1)
  t.teardown(loop.stop)
  await until(() => events.length > 1)
  t.match(events[1], { type: 'usage not recorded', err: { name: 'StoreUnavailable' } })
  t.equal(await tokens(), 0)
  db.exec('DROP TRIGGER fails')
  await until(async () => (await tokens()) === 1)
  await token()
  await until(async () => (await tokens()) === 2)
  t.equal((await administration.show(credentials.client_id)).lastTokenAt, START)
})

t.test('Usage: what is counted while it is stopped amid storing is stored too', async (t) => {
  const { issuer, token, administration } = await createWorld(t)
  const amid = Promise.withResolvers<void>()
  let times = 0
  const flushUsage: typeof issuer.flushUsage = async (observe) => {
    await issuer.flushUsage(observe)
    if (++times === 1) {
      await token()
      amid.resolve()
      await stopped.promise
    }
  }
  const stopped = Promise.withResolvers<void>()
  const loop = startUsageLoop({ issuer: { ...issuer, flushUsage }, observe: ({ type }) => t.fail(type) }, 1)
  await amid.promise
  const stop = loop.stop()
  stopped.resolve()
  await stop
  t.equal((await administration.list())[0]?.tokensThisHour, 1)
})

t.test('Usage: when it is stopped it stores what is left', async (t) => {
  const { issuer, token, administration } = await createWorld(t)
  const loop = startUsageLoop({ issuer, observe: ({ type }) => t.fail(type) }, NEVER)
  await token()
  await loop.stop()
  t.equal((await administration.list())[0]?.tokensThisHour, 1)
})
