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
const CHANGES: [name: string, statement: string, make: (world: World) => Promise<unknown>][] = [
  ['a new token', 'INSERT INTO tokens', ({ store, newToken }) => store.addToken(newToken())],
  ['a revocation', 'UPDATE tokens', ({ store, known }) => store.revokeToken(known.id, 5)],
  ['a status', 'COMMIT', ({ store }) => store.setStatus('a', 'suspended', AUDIT)],
  ['the revocation of all tokens', 'COMMIT', ({ store }) => store.revokeTokens('a', 5, AUDIT)],
]

for (const [name, statement, make] of CHANGES) {
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

t.test('Session: of several hosts the primary is taken, and of two primaries the later one', async (t) => {
  const { location } = await startSession(t)
  const ports = { standby: pair.standby.port, nobody: 1, primary: pair.primary.port }
  const begin = (...names: (keyof typeof ports)[]) => {
    const hosts = names.map((name) => ({ host: '127.0.0.1', port: ports[name] }))
    return openSession({ ...location, hosts }, { monotonic: () => 0, observe() {} })
  }
  const portOf = async (...names: (keyof typeof ports)[]) => {
    const session = await begin(...names)
    session.end(new StoreUnavailable('enough') as never)
    return session.reads.host.port
  }
  t.equal(await portOf('standby', 'nobody', 'primary'), ports.primary)
  t.equal(await portOf('primary', 'nobody', 'standby'), ports.primary)
  await t.rejects(begin('standby'), { name: 'StoreUnavailable', message: /is a standby, or read-only/ })
  await t.rejects(begin('standby', 'nobody'), /ECONNREFUSED/)

  await pair.promote()
  // The old one, which was not told, takes writes again.
  await pair.primary.query("ALTER SYSTEM SET synchronous_standby_names = ''")
  await pair.primary.query('SELECT pg_reload_conf()')
  t.equal(await portOf('primary', 'standby'), ports.standby)
  t.equal(await portOf('standby', 'primary'), ports.standby)
})
