import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import type { Event } from '../../src/domain/events.ts'
import { firstTokenIdAt, mintToken } from '../../src/domain/token.ts'
import { hourOf } from '../../src/domain/usage.ts'
import { purge } from '../../src/issuer/purge.ts'
import { startPurgeLoop } from '../../src/server/purge-loop.ts'
import { AUDIT } from '../support/audit.ts'
import { keyOf } from '../support/keys.ts'
import { refusal } from '../support/refusal.ts'
import { createWorldWithFile } from '../support/suites.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const NEWCOMER = {
  name: 'A',
  developerEmail: 'a@b.example',
  createdAt: START,
  secret: { digest: '$sha256$A', createdAt: START },
  suites: [],
  skipNamesake: false,
}

/** A world with a purge, which resolves to whether there may be more, and notes what it told. */
async function createPurgingWorld(t: Test) {
  const world = await createWorld(t)
  const { store, clock } = world
  const told: Event[] = []
  const options = { store, now: () => clock.time, observe: (event: Event) => told.push(event) }
  return { ...world, told, purgeOnce: () => purge(options) }
}

t.test('The contract: a token lives 60 minutes, then the purge takes it and not before', async (t) => {
  const { store, clock, told, purgeOnce } = await createPurgingWorld(t)
  const smallest = { ...mintToken(keyOf(1), START).stored, id: firstTokenIdAt(START) }
  await store.addToken(smallest)
  await store.addToken(mintToken(keyOf(1), START - 1).stored)
  for (const [time, purged] of [
    [HOUR - 1, 'not even the smallest id of a millisecond that is not expired'],
    [HOUR, 'and then that, too'],
  ] as const) {
    clock.time = START + time
    t.equal(await purgeOnce(), false)
    t.strictSame(told.splice(0), [{ type: 'tokens purged', count: 1 }], purged)
  }
})

t.test('Purge: it is stopped when the step that was under way is done', async (t) => {
  const { store, other } = await createWorldWithFile(t)
  await store.addToken(mintToken(keyOf(1), START).stored)
  other.exec('BEGIN IMMEDIATE')
  const observe = ({ type }: Event) => t.equal(type, 'tokens purged')
  const stopped = startPurgeLoop({ store, now: () => START + HOUR, monotonic: () => 0, observe }).stop()
  for (let n = 0; n < 10; n++) await nextTurn()
  other.exec('COMMIT')
  await stopped
  t.equal(other.prepare('SELECT count(*) FROM tokens').pluck().get(), 0)
})

t.test('Purge: counts of tokens are kept for two days', async (t) => {
  const { store, clock, credentials, token, flushUsage, purgeOnce } = await createPurgingWorld(t)
  const { key } = (await store.findApplication(credentials.client_id)) as Application
  const counts = () => store.listTokenCounts([key], [hourOf(START)])
  await token()
  await flushUsage()
  clock.time += 48 * HOUR
  await purgeOnce()
  t.equal((await counts()).length, 1)
  clock.time += HOUR
  t.equal(await purgeOnce(), false)
  t.strictSame(await counts(), [])
})

t.test('Purge: refusals are kept for 30 days after the last one', async (t) => {
  const { store, clock, credentials, told, purgeOnce } = await createPurgingWorld(t)
  const old = refusal(credentials.client_id, { firstAt: START - HOUR })
  await store.recordRefusals([old])
  clock.time += 30 * DAY
  await purgeOnce()
  t.strictSame(await store.listRefusals(old.clientId), [old])
  clock.time += 1
  t.equal(await purgeOnce(), false)
  t.strictSame(await store.listRefusals(old.clientId), [])

  const clients = Array.from({ length: 26 }, (_, n) => ({ ...NEWCOMER, clientId: `a${n}` }))
  await store.register({ suites: [], applications: clients }, AUDIT)
  for (const { clientId } of clients) {
    await store.recordRefusals(Array.from({ length: 20 }, (_, m) => ({ ...old, clientId, reason: `${m}` })))
  }
  t.equal(await purgeOnce(), true, 'there are more')
  t.equal(await purgeOnce(), false)
  t.strictSame(told, [])
})

t.test('Purge: audit events are kept for 400 days', async (t) => {
  const { store, clock, told, purgeOnce } = await createPurgingWorld(t)
  const events = async () => (await store.listAuditEvents({ limit: 9 })).map(({ at }) => at)
  const change = (...clientIds: string[]) => {
    const applications = clientIds.map((clientId) => ({ ...NEWCOMER, clientId }))
    return store.register({ suites: [], applications }, { ...AUDIT, at: clock.time })
  }
  clock.time += 400 * DAY
  await change('b')
  await purgeOnce()
  t.strictSame(await events(), [clock.time, START])
  clock.time += 1
  await change('c')
  t.equal(await purgeOnce(), false)
  t.strictSame(await events(), [clock.time, clock.time - 1])

  await change(...Array.from({ length: 499 }, (_, n) => `a${n}`))
  clock.time += 401 * DAY
  await change('d')
  t.equal(await purgeOnce(), true, 'there are more')
  t.equal(await purgeOnce(), false)
  t.strictSame(await events(), [clock.time])
  t.strictSame(told, [])
})

t.test(
  'Purge: a clock that is years ahead or behind does not empty the audit trail; an empty one is none',
  async (t) => {
    const { store, clock, purgeOnce } = await createPurgingWorld(t)
    for (const time of [START + 4000 * DAY, START - 4000 * DAY, -DAY]) {
      clock.time = time
      await purgeOnce()
      t.equal((await store.listAuditEvents({ limit: 9 })).length, 1)
    }
    Object.assign(store, { listAuditEvents: async () => [] })
    t.equal(await purgeOnce(), false)
  },
)

t.test('Purge: everything else waits until the expired tokens are deleted', async (t) => {
  const { store, clock, credentials, purgeOnce } = await createPurgingWorld(t)
  const old = refusal(credentials.client_id, { firstAt: START - HOUR })
  const refusals = async () => (await store.listRefusals(old.clientId)).length
  await store.recordRefusals([old])
  await Promise.all(Array.from({ length: 500 }, () => store.addToken(mintToken(keyOf(1), START).stored)))
  clock.time += 31 * DAY
  t.strictSame([await purgeOnce(), await refusals()], [true, 1])
  t.strictSame([await purgeOnce(), await refusals()], [false, 0])
})
