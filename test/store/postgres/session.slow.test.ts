import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import { keepPrimary } from '../../../src/store/postgres/primary.ts'
import { openSession } from '../../../src/store/postgres/session.ts'
import { AUDIT } from '../../support/audit.ts'
import { isReady } from '../../support/is-ready.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startPair } from '../../support/postgres/postgres.ts'
import { until } from '../../support/until.ts'
import { newKey } from '../conformance/harness.ts'

// The last test makes a primary of its standby.
const pair = await startPair(t)

/** A store on a primary that waits for its standby, with an application. */
async function createWorld(t: Test) {
  const url = await pair.primary.createDatabase()
  const store = await openStore(locationOf(url), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  const key = await newKey(store, 'a')
  const role = new URL(url).username
  const known = mintToken(key, Date.now()).stored
  await store.addToken(known)
  return {
    store,
    known,
    newToken: () => mintToken(key, Date.now()).stored,
    /** How many commits of these statements wait for the standby. */
    waiting: async (statements: string) => {
      const text = `SELECT pid FROM pg_stat_activity WHERE usename = $1 AND wait_event = 'SyncRep' AND query ~ $2`
      return pair.primary.query(text, [role, statements])
    },
    isReady: () => isReady(store),
  }
}

type World = Awaited<ReturnType<typeof createWorld>>

/** Every kind of change that somebody is answered, and the statement whose end makes it so. */
const CHANGES: { name: string; statement: string; make: (world: World) => Promise<unknown> }[] = [
  { name: 'a new token', statement: 'INSERT INTO tokens', make: ({ store, newToken }) => store.addToken(newToken()) },
  {
    name: 'a revocation',
    statement: 'UPDATE tokens',
    make: ({ store, known }) => store.revokeToken(known.id, 5),
  },
  { name: 'a status', statement: 'COMMIT', make: ({ store }) => store.setStatus('a', 'suspended', AUDIT) },
  { name: 'the revocation of all tokens', statement: 'COMMIT', make: ({ store }) => store.revokeTokens('a', 5, AUDIT) },
]

for (const { name, statement, make } of CHANGES) {
  for (const how of ['pg_cancel_backend', 'pg_terminate_backend', 'nothing']) {
    t.test(`A commit that waits for a standby, and ${how}: ${name} is not acknowledged`, async (t) => {
      const world = await createWorld(t)
      pair.standby.suspend()
      const answer = make(world)
      const rejected = t.rejects(answer, StoreUnavailable)
      await until(async () => (await world.waiting(statement)).length === 1)
      const [{ pid }] = (await world.waiting(statement)) as [{ pid: number }]
      if (how !== 'nothing') await pair.primary.query(`SELECT ${how}($1)`, [pid])
      await rejected
      pair.standby.resume()
      await until(world.isReady)
      await make(world)
    })
  }
}

/** A session with the primary, with a clock that the test moves. */
async function startSession(t: Test) {
  const location = locationOf(await pair.primary.createDatabase())
  const clock = { time: 0 }
  const session = await openSession(location, { monotonic: () => clock.time, observe() {} })
  t.teardown(() => session.end(new StoreUnavailable('the test ends') as never))
  return { location, clock, session }
}

t.test('Session: a server is believed for three seconds after a commit was sent that came back', async (t) => {
  const { clock, session } = await startSession(t)
  session.assertPrimary()
  clock.time = 3000
  session.assertPrimary()
  clock.time = 3001
  t.throws(() => session.assertPrimary(), { name: 'StoreUnavailable', message: /not certain that it is the primary/ })
  await session.proveIfNeeded()
  session.assertPrimary()

  pair.standby.suspend()
  clock.time += 3001
  await t.rejects(session.proveIfNeeded(), StoreUnavailable)
  t.throws(() => session.assertPrimary(), StoreUnavailable)
  t.match(await session.ended, { isSilent: true, message: /no answer within 1500 ms/ })
  pair.standby.resume()
})

t.test('Session: while a commit waits for a standby no other one is sent', async (t) => {
  const { location, clock, session } = await startSession(t)
  pair.standby.suspend()
  await t.rejects(session.write("SELECT pg_logical_emit_message(true, 'test', '')", []), StoreUnavailable)
  const waiting = async () => {
    const [row] = await pair.primary.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'SyncRep'",
    )
    return row.n as number
  }
  t.equal(await waiting(), 1)
  for (let n = 0; n < 3; n++) {
    await t.rejects(openSession(location, { monotonic: () => clock.time, observe() {} }), /commits wait for a standby/)
  }
  t.equal(await waiting(), 1)
  pair.standby.resume()
  const primary = await keepPrimary(location, {
    timeout: 5000,
    monotonic: () => performance.now(),
    observe() {},
  })
  await primary.session()
  primary.close()
  await until(async () => (await waiting()) === 0)
})

t.test('Session: of several hosts the primary is taken, whichever place it has', async (t) => {
  const { location } = await startSession(t)
  const hosts = [pair.standby.port, 1, pair.primary.port].map((port) => ({ host: '127.0.0.1', port }))
  for (const order of [hosts, hosts.toReversed()]) {
    const session = await openSession({ ...location, hosts: order }, { monotonic: () => 0, observe() {} })
    t.equal(session.reads.host.port, pair.primary.port)
    session.end(new StoreUnavailable('enough') as never)
  }
  await t.rejects(openSession({ ...location, hosts: hosts.slice(0, 1) }, { monotonic: () => 0, observe() {} }), {
    name: 'StoreUnavailable',
    message: /is a standby, or read-only/,
  })
  await t.rejects(
    openSession({ ...location, hosts: hosts.slice(0, 2) }, { monotonic: () => 0, observe() {} }),
    /ECONNREFUSED/,
  )
})

t.test('Session: of two primaries that of the higher timeline is taken', async (t) => {
  const { location } = await startSession(t)
  await pair.promote()
  // The old one, which was not told, takes writes again.
  await pair.primary.query("ALTER SYSTEM SET synchronous_standby_names = ''")
  await pair.primary.query('SELECT pg_reload_conf()')
  const hosts = [pair.primary.port, pair.standby.port].map((port) => ({ host: '127.0.0.1', port }))
  for (const order of [hosts, hosts.toReversed()]) {
    const session = await openSession({ ...location, hosts: order }, { monotonic: () => 0, observe() {} })
    t.equal(session.reads.host.port, pair.standby.port)
    session.end(new StoreUnavailable('enough') as never)
  }
})
