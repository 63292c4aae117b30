import t, { type Test } from 'tap'
import { type PostgresLocation, parseDatabaseUrl } from '../../../src/domain/database-location.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { keepPrimary } from '../../../src/store/postgres/primary.ts'
import { openSession } from '../../../src/store/postgres/session.ts'
import { startPair } from '../../support/postgres/postgres.ts'
import { until } from '../../support/until.ts'

/** A session with the primary of a pair, with a clock that the test moves. */
async function startSession(t: Test) {
  const pair = await startPair(t)
  const location = parseDatabaseUrl(await pair.primary.createDatabase()) as PostgresLocation
  const clock = { time: 0 }
  const session = await openSession(location, { monotonic: () => clock.time, observe() {} })
  t.teardown(() => session.end(new StoreUnavailable('the test ends') as never))
  return { pair, location, clock, session }
}

t.test('Session: a server is believed for three seconds after a commit was sent that came back', async (t) => {
  const { pair, clock, session } = await startSession(t)
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
  const { pair, location, clock, session } = await startSession(t)
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
  const { pair, location } = await startSession(t)
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
  const { pair, location } = await startSession(t)
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
