import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Application } from '../../src/domain/application.ts'
import type { Event } from '../../src/domain/events.ts'
import { mintToken } from '../../src/domain/token.ts'
import { hourOf } from '../../src/domain/usage.ts'
import { purge } from '../../src/issuer/purge.ts'
import { openStore } from '../../src/store/open.ts'
import { AUDIT } from '../support/audit.ts'
import { keyOf } from '../support/keys.ts'
import { refusal } from '../support/refusal.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
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

t.test('Purge: counts of tokens are kept for two days', async (t) => {
  const { store, clock, credentials, token, flushUsage } = await createWorld(t)
  const now = () => clock.time
  const { key } = (await store.findApplication(credentials.client_id)) as Application
  const counts = () => store.listTokenCounts([key], [hourOf(START)])
  await token()
  await flushUsage()
  clock.time += 48 * HOUR
  await purge({ store, now, observe() {} })
  t.equal((await counts()).length, 1)
  clock.time += HOUR
  t.equal(await purge({ store, now, observe() {} }), false)
  t.strictSame(await counts(), [])
})

t.test('Purge: refusals are kept for 30 days after the last one', async (t) => {
  const { store, clock, administration, credentials } = await createWorld(t)
  const now = () => clock.time
  const observe = ({ type }: Event) => t.fail(type)
  const old = refusal(credentials.client_id, { firstAt: START - HOUR })
  await store.recordRefusals([old])
  clock.time += 30 * 24 * HOUR
  await purge({ store, now, observe })
  t.strictSame(await store.listRefusals(old.clientId), [old])
  clock.time += 1
  t.equal(await purge({ store, now, observe }), false)
  t.strictSame(await store.listRefusals(old.clientId), [])

  for (let n = 0; n < 26; n++) {
    const { clientId } = await administration.register({ name: `${n}`, developerEmail: 'a@b.example' })
    await store.recordRefusals(Array.from({ length: 20 }, (_, m) => ({ ...old, clientId, reason: `${m}` })))
  }
  t.equal(await purge({ store, now, observe }), true, 'there are more')
  t.equal(await purge({ store, now, observe }), false)
})

t.test('Purge: audit events are kept for 400 days', async (t) => {
  const { store, clock } = await createWorld(t)
  const now = () => clock.time
  const observe = ({ type }: Event) => t.fail(type)
  const events = async () => (await store.listAuditEvents({ limit: 9 })).map(({ at }) => at)
  const change = (clientId: string) =>
    store.register({ suites: [], applications: [{ ...NEWCOMER, clientId }] }, { ...AUDIT, at: clock.time })
  clock.time += 400 * DAY
  await change('b')
  await purge({ store, now, observe })
  t.strictSame(await events(), [clock.time, START])
  clock.time += 1
  await change('c')
  t.equal(await purge({ store, now, observe }), false)
  t.strictSame(await events(), [clock.time, clock.time - 1])

  const applications = Array.from({ length: 499 }, (_, n) => ({ ...NEWCOMER, clientId: `a${n}` }))
  await store.register({ suites: [], applications }, { ...AUDIT, at: clock.time })
  clock.time += 401 * DAY
  await change('d')
  t.equal(await purge({ store, now, observe }), true, 'there are more')
  t.equal(await purge({ store, now, observe }), false)
  t.strictSame(await events(), [clock.time])
})

t.test('Purge: a clock that is years ahead or behind does not empty the audit trail', async (t) => {
  const { store, clock } = await createWorld(t)
  const now = () => clock.time
  for (const time of [START + 4000 * DAY, START - 4000 * DAY]) {
    clock.time = time
    await purge({ store, now, observe() {} })
    t.equal((await store.listAuditEvents({ limit: 9 })).length, 1)
  }
})

t.test('Purge: an empty audit trail needs no purge', async (t) => {
  const store = await openStore({ kind: 'sqlite', file: ':memory:' }, { lockTimeout: 0 })
  t.teardown(() => store.close())
  t.equal(await purge({ store, now: () => START, observe() {} }), false)
})

t.test('Purge: everything else waits until the expired tokens are deleted', async (t) => {
  const { store, clock, credentials } = await createWorld(t)
  const now = () => clock.time
  const old = refusal(credentials.client_id, { firstAt: START - HOUR })
  const refusals = async () => (await store.listRefusals(old.clientId)).length
  await store.recordRefusals([old])
  await Promise.all(Array.from({ length: 500 }, () => store.addToken(mintToken(keyOf(1), START).stored)))
  clock.time += 31 * DAY
  t.equal(await purge({ store, now, observe() {} }), true)
  t.equal(await refusals(), 1)
  t.equal(await purge({ store, now, observe() {} }), false)
  t.equal(await refusals(), 0)
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
  t.equal(await purge({ store, now, observe() {} }), false)
  t.equal(rows(), 1)
  clock.time = START + HOUR
  t.equal(await purge({ store, now, observe() {} }), false)
  t.equal(rows(), 0)
})
