import { join } from 'node:path'
import Database from 'better-sqlite3'
import t, { type Test } from 'tap'
import type { Event } from '../../src/domain/events.ts'
import { mintToken } from '../../src/domain/token.ts'
import { startPurgeLoop } from '../../src/server/purge-loop.ts'
import { AUDIT } from '../support/audit.ts'
import { keyOf } from '../support/keys.ts'
import { logged } from '../support/logged.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { createWorld, START } from '../support/world.ts'

const HOUR = 3_600_000

/** A purge loop that looks every few milliseconds, with two clocks that the test moves. */
async function startLoop(t: Test, start = START, clockOffset = (): number | undefined => 0) {
  const file = join(temporaryFolder(t), 'store.db')
  const { store } = await createWorld(t, { databaseUrl: `sqlite:${file}` })
  const db = new Database(file)
  t.teardown(() => db.close())
  const clocks = { wall: start, steady: 0 }
  const events: Event[] = []
  let steps = 0
  const loop = startPurgeLoop({
    store: { ...store, clockOffset },
    now: () => clocks.wall,
    monotonic: () => {
      steps++
      return clocks.steady
    },
    observe: (event) => events.push(event),
    idleDelay: 1,
  })
  t.teardown(loop.stop)

  /** Resolves when the loop has looked at the clocks as they are now, several times. */
  async function looked(): Promise<void> {
    const enough = steps + 10
    await until(() => steps > enough)
  }
  const tokens = () => db.prepare('SELECT count(*) FROM tokens').pluck().get()
  const issue = (at: number) => store.addToken(mintToken(keyOf(1), at).stored)
  return { clocks, events, looked, tokens, issue, store }
}

t.test('Purge: a clock that is ahead for a while costs no token', async (t) => {
  const { clocks, events, looked, tokens, issue } = await startLoop(t)
  await issue(START)
  await looked()
  clocks.wall += 2 * HOUR
  await looked()
  clocks.wall += 11_000
  clocks.steady += 11_000
  await looked()
  clocks.wall -= 2 * HOUR
  await looked()
  t.equal(tokens(), 1)
  t.strictSame(logged(events), [
    { type: 'clock jumped', seconds: 7200 },
    { type: 'clock jumped', seconds: -7200 },
  ])
})

t.test('Purge: where the time of the database is not known yet, or is another one, nothing is deleted', async (t) => {
  let offset: number | undefined
  const { clocks, looked, tokens, issue } = await startLoop(t, START, () => offset)
  await issue(START - 2 * HOUR)
  await looked()
  t.equal(tokens(), 1)
  offset = -2 * HOUR
  await looked()
  t.equal(tokens(), 1)
  offset = 0
  clocks.steady += 10
  await until(() => tokens() === 0)
})

t.test('Purge: after a jump it goes on when every token that was valid then has expired', async (t) => {
  const { clocks, looked, tokens, issue } = await startLoop(t)
  await issue(START)
  clocks.wall += 2 * HOUR
  await looked()
  clocks.wall += HOUR - 1
  clocks.steady += HOUR - 1
  await looked()
  t.equal(tokens(), 1)
  clocks.wall += 1
  clocks.steady += 1
  await until(() => tokens() === 0)
})

t.test('Purge: a clock that counts from 1970 on does not make it fail', async (t) => {
  const { clocks, events, looked, tokens, issue } = await startLoop(t, 0)
  await issue(0)
  await looked()
  t.strictSame([tokens(), logged(events)], [1, []])
  clocks.wall += HOUR
  clocks.steady += HOUR
  await until(() => tokens() === 0)
  t.strictSame(logged(events), [])
})

t.test('Purge: setting the clock back ends all sessions and login links; setting it forward ends none', async (t) => {
  const { clocks, looked, store } = await startLoop(t)
  await store.addOperator({ name: 'anna', role: 'admin', createdAt: START }, AUDIT)
  const from = { remoteAddress: '192.0.2.1', userAgent: 'Browser' }
  async function begin(): Promise<void> {
    const code = { createdAt: START, endsAt: START + 8 * HOUR }
    for (const digest of ['used', 'code']) await store.addLoginCode('anna', { ...code, digest }, AUDIT)
    await store.beginSession('anna', 'used', { digest: 'session', ...code, ...from }, AUDIT)
  }
  const left = async () =>
    [await store.findLoginCode('code'), await store.findSession('session')].filter(Boolean).length
  await begin()
  clocks.wall += HOUR
  await looked()
  t.equal(await left(), 2)
  clocks.wall -= HOUR / 60 + 1
  await until(async () => (await left()) === 0)
  await begin()
  await looked()
  t.equal(await left(), 2, 'sessions that start later are kept')
})

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
