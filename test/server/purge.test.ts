import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import type { AuditHead } from '../../src/domain/audit-chain.ts'
import type { Event } from '../../src/domain/events.ts'
import { firstTokenIdAt, mintToken } from '../../src/domain/token.ts'
import { hourOf } from '../../src/domain/usage.ts'
import { createPace, purge, startPurgeLoop, watchAuditHead } from '../../src/server/purge-loop.ts'
import { application } from '../support/newcomers.ts'
import { AUDIT } from '../support/on.ts'
import { refusal } from '../support/refusal.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { createWorld, createWorldWithFile, keyOf, START } from '../support/world.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A world with a purge, and the events that it reports. */
async function createPurgingWorld(t: Test, databaseUrl = 'sqlite::memory:') {
  const world = await createWorld(t, { databaseUrl })
  const { store, clock } = world
  const told: Event[] = []
  const purgeOnce = (rows = 500) => purge({ store, now: () => clock.time, observe: (event) => told.push(event) }, rows)
  /** How many rows there are after the last purge at this age. */
  async function leaves(rows: () => Promise<unknown[]>, age: number): Promise<number> {
    clock.time = START + age
    t.equal(await purgeOnce(), false)
    return (await rows()).length
  }
  return { ...world, told, purgeOnce, leaves }
}

t.test('The contract: a token lives 60 minutes, then the purge takes it and not before', async (t) => {
  const { store, clock, told, purgeOnce } = await createPurgingWorld(t)
  const smallest = { ...mintToken(keyOf(1), START).stored, id: firstTokenIdAt(START) }
  await store.addToken(smallest)
  await store.addToken(mintToken(keyOf(1), START - 1).stored)
  // At first not even the smallest id of a millisecond that is not expired.
  for (const age of [HOUR - 1, HOUR]) {
    clock.time = START + age
    t.equal(await purgeOnce(), false)
    t.strictSame(told.splice(0), [{ type: 'tokens purged', count: 1 }])
  }
})

t.test('Purge: it is stopped when the step that was under way is done', async (t) => {
  const { store, other } = await createWorldWithFile(t)
  await store.addToken(mintToken(keyOf(1), START).stored)
  other.exec('BEGIN IMMEDIATE')
  const told: string[] = []
  const observe = ({ type }: Event) => told.push(type)
  const stopped = startPurgeLoop({ store, now: () => START + HOUR, monotonic: () => 0, observe }).stop()
  for (let n = 0; n < 10; n++) await nextTurn()
  other.exec('COMMIT')
  await stopped
  t.equal(other.prepare('SELECT count(*) FROM tokens').pluck().get(), 0)
  t.strictSame(told, ['tokens purged', 'audit head'])
})

t.test('Purge: audit events that older programs have written are chained, a step at a time', async (t) => {
  const { store, other } = await createWorldWithFile(t)
  const clients = Array.from({ length: 500 }, (_, n) => application(`a${n}`))
  await store.register({ suites: [], applications: clients }, AUDIT)
  other.exec('UPDATE audit_events SET chained_at = NULL, hash = NULL')
  const purgeOnce = () => purge({ store, now: () => START + 5, observe: () => {} }, 500)
  t.strictSame([await purgeOnce(), await purgeOnce(), await purgeOnce()], [true, true, false])
  const chained = other.prepare('SELECT count(*) FROM audit_events WHERE hash IS NOT NULL AND chained_at = ?')
  t.equal(chained.pluck().get(START + 5), other.prepare('SELECT count(*) FROM audit_events').pluck().get())
})

t.test('Audit head: it is reported at the start and once a day, signed if there is a key', async (t) => {
  const { store, clock } = await createWorld(t)
  const { privateKey } = generateKeyPairSync('ed25519')
  const head = await store.findAuditHead()
  let found: () => Promise<AuditHead | undefined> = async () => undefined
  const told: Event[] = []
  const watch = (auditKey?: KeyObject) =>
    watchAuditHead({
      ...{ store: { findAuditHead: () => found() }, now: () => clock.time, monotonic: () => clock.monotonic },
      ...{ observe: (event) => told.push(event), auditKey },
    })
  const report = watch()
  await report()
  found = async () => Promise.reject(new Error('gone'))
  await report()
  t.strictSame(told, [], 'nothing is known')
  found = async () => head
  const time = new Date(START).toISOString()
  const first = { type: 'audit head', id: 1, at: time, hash: head?.hash, madeAt: time }
  for (const [after, expected] of [
    [0, [first]],
    [DAY - 1, []],
    [1, [{ ...first, madeAt: new Date(START + DAY).toISOString() }]],
  ] as const) {
    clock.time += after
    clock.monotonic += after
    await report()
    t.strictSame(told.splice(0), expected)
  }
  await watch(privateKey)()
  t.match(told, [{ signature: /^[\w+/]{86}==$/ }])
})

t.test('Purge: counts of tokens are kept for two days', async (t) => {
  const { store, credentials, token, flushUsage, leaves } = await createPurgingWorld(t)
  const { key } = (await store.findApplication(credentials.client_id)) as Application
  const counts = async () => (await store.listTokenCounts([key], hourOf(START))).filter(({ issued }) => issued > 0)
  await token()
  await flushUsage()
  t.equal(await leaves(counts, 48 * HOUR), 1)
  t.equal(await leaves(counts, 49 * HOUR), 0)
})

t.test('Purge: refusals are kept for 30 days after the last one', async (t) => {
  const { store, credentials, told, purgeOnce, leaves } = await createPurgingWorld(t)
  const old = refusal(credentials.client_id, { firstAt: START - HOUR })
  const refusals = () => store.listRefusals(old.clientId)
  await store.recordRefusals([old])
  t.equal(await leaves(refusals, 30 * DAY), 1)
  t.equal(await leaves(refusals, 30 * DAY + 1), 0)

  const clients = Array.from({ length: 26 }, (_, n) => application(`a${n}`))
  await store.register({ suites: [], applications: clients }, AUDIT)
  for (const { clientId } of clients) {
    await store.recordRefusals(Array.from({ length: 20 }, (_, m) => ({ ...old, clientId, reason: `${m}` })))
  }
  t.strictSame([await purgeOnce(), await purgeOnce()], [true, false], 'there are more after a step')
  t.strictSame(told, [])
})

t.test('Purge: of usage, each step deletes a batch of each span, until there is nothing left', async (t) => {
  const { store, clock, purgeOnce } = await createPurgingWorld(t)
  const clients = Array.from({ length: 501 }, (_, n) => application(`a${n}`))
  await store.register({ suites: [], applications: clients }, AUDIT)
  const counts = clients.map(({ clientId }) => ({ clientId, tokens: 1, checks: 0, refusals: 0 }))
  await store.addUsage(counts, clock.time)
  clock.time += 10 * DAY
  t.strictSame([await purgeOnce(), await purgeOnce()], [true, false])
})

t.test('Purge: audit events are kept for 400 days', async (t) => {
  const { store, clock, told, purgeOnce, leaves } = await createPurgingWorld(t)
  const events = () => store.listAuditEvents({ limit: 9 })
  const change = (...clientIds: string[]) =>
    store.register({ suites: [], applications: clientIds.map((id) => application(id)) }, { ...AUDIT, at: clock.time })
  clock.time = START + 400 * DAY
  await change('b')
  t.equal(await leaves(events, 400 * DAY), 2)
  clock.time += 1
  await change('c')
  t.equal(await leaves(events, 400 * DAY + 1), 2)

  await change(...Array.from({ length: 499 }, (_, n) => `a${n}`))
  clock.time += 401 * DAY
  await change('d')
  t.strictSame([await purgeOnce(), await purgeOnce()], [true, false], 'there are more after a step')
  t.equal((await events()).length, 1)
  t.strictSame(told, [])
})

t.test('Purge: a clock that is years ahead or behind does not empty the audit trail', async (t) => {
  const { store, clock, purgeOnce } = await createPurgingWorld(t)
  for (const time of [START + 4000 * DAY, START - 4000 * DAY, -DAY]) {
    clock.time = time
    await purgeOnce()
    t.equal((await store.listAuditEvents({ limit: 9 })).length, 1)
  }
  Object.assign(store, { listAuditEvents: async () => [] })
  t.equal(await purgeOnce(), false)
})

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

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  t.test(`Purge: on ${name} one that is behind takes larger steps and shorter pauses until it is not`, async (t) => {
    const { DATABASE_URL } = await createEnv(t)
    const { store, clock, told, purgeOnce } = await createPurgingWorld(t, DATABASE_URL)
    const pace = createPace(() => clock.monotonic)
    /** Makes steps until there is no more to delete. Resolves to the pauses and to how many tokens each step deleted. */
    async function catchUp(...tokens: number[]) {
      const issue = () => store.addToken(mintToken(keyOf(1), START).stored)
      for (const length of tokens) await Promise.all(Array.from({ length }, issue))
      clock.time += HOUR
      const pauses: number[] = []
      for (let pause = await pace(purgeOnce); pause !== undefined; pause = await pace(purgeOnce)) pauses.push(pause)
      return { pauses, deleted: told.splice(0).map((event) => 'count' in event && event.count) }
    }
    t.strictSame(await catchUp(1000, 900), { pauses: [14, 13], deleted: [500, 700, 700] })
    t.strictSame(await catchUp(501), { pauses: [14], deleted: [500, 1] })
  })
}

t.test('Purge: steps have a limit, and become smaller while they keep the process busy for long', async (t) => {
  let time = 0
  const pace = createPace(() => time)
  /** The rows of a step, and the pause after it, if it blocks for this long and there is more. */
  async function step(blocks: number) {
    let rows = 0
    const pause = await pace(async (allowed) => {
      rows = allowed
      time += blocks
      await nextTurn()
      time += 1000
      return true
    })
    return [rows, pause]
  }
  async function lastSteps(count: number, blocks: number) {
    const made = []
    for (let n = 0; n < count; n++) made.push(await step(blocks))
    return made.slice(-2).flat()
  }
  const [small, middle, large] = [500, 900, 1500]
  t.strictSame(await lastSteps(12, 0.25), [large, 10, large, 10])
  t.strictSame(await lastSteps(9, 0.85), [middle, 12, middle + 200, 13])
  t.strictSame(await lastSteps(12, 2), [small, 15, small, 15])
})
