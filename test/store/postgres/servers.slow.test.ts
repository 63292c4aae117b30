import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { Event } from '../../../src/domain/events.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { keepPrimary } from '../../../src/store/postgres/primary.ts'
import { openSession } from '../../../src/store/postgres/session.ts'
import { isReady } from '../../support/is-ready.ts'
import { logged } from '../../support/logged.ts'
import { needs } from '../../support/needs.ts'
import { suite } from '../../support/newcomers.ts'
import { AUDIT, on } from '../../support/on.ts'
import { holdOpen, query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startPair, startPostgres } from '../../support/postgres/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'
import { keyOf, START } from '../../support/world.ts'
import { newKey } from '../conformance/harness.ts'
import { newLocation, open } from './stores.ts'

/** Gives a running server another setting. */
async function reset(server: { query: (text: string) => Promise<unknown> }, setting: string): Promise<void> {
  for (const text of [`ALTER SYSTEM SET ${setting}`, 'SELECT pg_reload_conf()']) await server.query(text)
}

t.test('Changes: one that waits too long for another is refused, and the session goes on', async (t) => {
  const { url, location } = await newLocation()
  const events: Event[] = []
  // The lock time-out of commands.
  const store = await open(t, location, { lockTimeout: 10_000, observe: (event) => events.push(event) })
  const end = await holdOpen(t, url, 'SELECT registry FROM changes FOR UPDATE')
  const message = /55P03, .*\(another node or command is changing the same data, or a pg_dump is reading it: wait until/
  const newcomers = { suites: [suite('s')], applications: [] }
  await t.rejects(store.register(newcomers, AUDIT), { name: 'StoreUnavailable', message })
  await end()
  t.strictSame(logged(events), [])
  t.match(await store.register(newcomers, AUDIT), { suites: [{ suiteId: 's' }] })
})

t.test('PostgreSQL: if nothing answers, the start fails after some seconds, with the reason', async (t) => {
  const { location } = await newLocation()
  const hosts = [{ host: '127.0.0.1', port: 1 }]
  const message = /PostgreSQL at 127\.0\.0\.1:1: .*ECONNREFUSED/
  await t.rejects(open(t, { ...location, hosts }), { name: 'StoreUnavailable', message })
})

t.test('A locked table: the number of statements that wait for it does not grow', async (t) => {
  const { url, location } = await newLocation()
  const store = await open(t, location)
  const key = await newKey(store, 'a')
  const locks = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND usename = current_user"
  const waiting = async () => (await query(url, locks)).length
  const locked = query(url, 'BEGIN; LOCK TABLE tokens; SELECT pg_sleep(7); COMMIT')
  await until(async () => {
    await store.addToken(mintToken(key, Date.now()).stored).catch(() => {})
    return (await waiting()) > 0
  })
  let most = 0
  let isOver = false
  const done = locked.then(() => (isOver = true))
  while (!isOver) {
    await Promise.allSettled([store.addToken(mintToken(key, Date.now()).stored), store.findToken(Buffer.alloc(16))])
    most = Math.max(most, await waiting())
  }
  await done
  t.ok(most <= 4, `${most} waited`)
  await until(() => isReady(store))
  const token = mintToken(key, Date.now()).stored
  await store.addToken(token)
  t.match(await store.findToken(token.id), { stored: token })
})

t.test('A dedicated server: a missing answer is measured; one that stops syncing is not used', async (t) => {
  const own = await startPostgres(t)
  const events: Event[] = []
  const store = await open(t, locationOf(await own.createDatabase()), { observe: (event) => events.push(event) })
  events.length = 0
  own.suspend()
  await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), { name: 'StoreUnavailable' })
  own.resume()
  const isSlowWrite = (event: Event) => event.type === 'round trip' && event.kind === 'write' && event.seconds > 1
  t.ok(events.some(isSlowWrite), 'otherwise measurements would miss the slowest answers')

  await until(() => isReady(store))
  await reset(own, 'synchronous_commit = off')
  await until(async () => !(await isReady(store)))
  await t.rejects(store.findSuite('a'), { name: 'StoreUnavailable', message: /synchronous_commit is off/ })
})

t.test('A dedicated server: after a reload turns synchronous_commit off, answers survive a crash', async (t) => {
  // Otherwise the server would write commits to the disk by itself soon.
  const own = await startPostgres(t, { settings: { wal_writer_delay: '10s' } })
  const url = await own.createDatabase()
  const store = await open(t, locationOf(url))
  const key = await newKey(store, 'a')
  await reset(own, 'synchronous_commit = off')
  let answered = 0
  // The next heartbeat ends the session.
  for (let isOver = false; !isOver; ) {
    const writes = [store.addToken(mintToken(key, Date.now()).stored), on(store).revokeTokens('a', answered + 1)]
    const [token, revocation] = await Promise.allSettled(writes)
    isOver = token?.status === 'rejected' || revocation?.status === 'rejected'
    if (!isOver) answered++
  }
  await own.kill()
  await own.start()
  const counts = 'SELECT count(*)::int AS tokens, max(tokens_valid_from)::int AS last FROM tokens, applications'
  const [found] = await query(url, counts)
  t.ok(answered > 0)
  t.ok(found.tokens >= answered && found.last >= answered, `${answered}: ${JSON.stringify(found)}`)
})

const skip = needs('openssl')

t.test('PostgreSQL with TLS: the server has to prove its identity', { skip }, async (t) => {
  const secure = await startPostgres(t)
  const { uid, gid } = statSync(secure.data)
  const [certificate, key] = [join(temporaryFolder(t), 'server.crt'), join(secure.data, 'server.key')]
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const options = ['-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...names]
  execFileSync('openssl', ['req', ...options, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  copyFileSync(certificate, join(secure.data, 'server.crt'))
  for (const file of [key, join(secure.data, 'server.crt')]) {
    chmodSync(file, 0o600)
    chownSync(file, uid, gid)
  }
  secure.configure({ ssl: 'on' })
  await secure.kill('SIGINT')
  await secure.start()
  const location = locationOf(await secure.createDatabase())

  const byName = { ...location, hosts: [{ host: 'localhost', port: secure.port }] }
  await open(t, { ...byName, tls: { rootCertificateFile: certificate } })
  const sessions = "pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'token-server'"
  const [row] = await secure.query(`SELECT bool_and(ssl) AS all FROM ${sessions}`)
  t.equal(row.all, true)
  await t.rejects(open(t, { ...byName, tls: { rootCertificateFile: undefined } }), /self-signed certificate/)
  await t.rejects(open(t, { ...location, tls: { rootCertificateFile: certificate } }), /IP: 127\.0\.0\.1/)
})

// The last test promotes its standby.
const pair = await startPair(t)

/** A store on a primary that waits for its standby, with an application. */
async function createWorld(t: Test) {
  const url = await pair.primary.createDatabase()
  const store = await open(t, locationOf(url), { lockTimeout: 2000 })
  const key = await newKey(store, 'a')
  const role = new URL(url).username
  const known = mintToken(key, Date.now()).stored
  await store.addToken(known)
  return {
    store,
    known,
    newToken: () => mintToken(key, Date.now()).stored,
    /** The processes whose commits of these statements wait for the standby. */
    waiting: async (statements: string) => {
      const text = `SELECT pid FROM pg_stat_activity WHERE usename = $1 AND wait_event = 'SyncRep' AND query ~ $2`
      return pair.primary.query(text, [role, statements])
    },
    isReady: () => isReady(store),
  }
}

type World = Awaited<ReturnType<typeof createWorld>>

/** Every kind of change that is acknowledged, and the statement that commits it. */
const CHANGES: [name: string, statement: string, make: (world: World) => Promise<unknown>][] = [
  ['a new token', 'INSERT INTO tokens', ({ store, newToken }) => store.addToken(newToken())],
  ['a revocation', 'UPDATE tokens', ({ store, known }) => store.revokeToken(known.id, 5)],
  ['a status', 'COMMIT', ({ store }) => on(store).setStatus('a', 'suspended')],
  ['the revocation of all tokens', 'COMMIT', ({ store }) => on(store).revokeTokens('a', 5)],
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

t.test('Session: a server is trusted for three seconds after a successful commit was sent', async (t) => {
  const { clock, session } = await startSession(t)
  session.assertPrimary()
  clock.time = 3000
  session.assertPrimary()
  clock.time = 3001
  t.throws(() => session.assertPrimary(), { name: 'StoreUnavailable', message: /not certain that this server/ })
  await session.proveIfNeeded()
  session.assertPrimary()

  pair.standby.suspend()
  clock.time += 3001
  await t.rejects(session.proveIfNeeded(), StoreUnavailable)
  t.throws(() => session.assertPrimary(), StoreUnavailable)
  t.match(await session.ended, { isSilent: true, message: /no answer within 1500 ms/ })
  pair.standby.resume()
})

t.test('Session: while a commit waits for a standby, no other is sent', async (t) => {
  const { location, clock, session } = await startSession(t)
  pair.standby.suspend()
  await t.rejects(session.write("SELECT pg_logical_emit_message(true, 'test', '')", []), StoreUnavailable)
  const commits = "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
  const waiting = async () => (await pair.primary.query(commits)).length
  t.equal(await waiting(), 1)
  for (let n = 0; n < 3; n++) {
    await t.rejects(openSession(location, { monotonic: () => clock.time, observe() {} }), /commits wait for a standby/)
  }
  t.equal(await waiting(), 1)
  pair.standby.resume()
  const primary = await keepPrimary(location, { timeout: 5000, observe() {} })
  await primary.session()
  primary.close()
  await until(async () => (await waiting()) === 0)
})

t.test('Session: the primary among several hosts is used, and of two primaries the later one', async (t) => {
  const { location } = await startSession(t)
  const ports = { standby: pair.standby.port, nobody: 1, primary: pair.primary.port }
  const begin = (...names: (keyof typeof ports)[]) => {
    const hosts = names.map((name) => ({ host: '127.0.0.1', port: ports[name] }))
    return openSession({ ...location, hosts }, { monotonic: () => 0, observe() {} })
  }
  const portOf = async (...names: (keyof typeof ports)[]) => {
    const session = await begin(...names)
    session.end(new StoreUnavailable('not needed') as never)
    return session.reads.host.port
  }
  t.equal(await portOf('standby', 'nobody', 'primary'), ports.primary)
  t.equal(await portOf('primary', 'nobody', 'standby'), ports.primary)
  await t.rejects(begin('standby'), { name: 'StoreUnavailable', message: /is a standby, or read-only/ })
  await t.rejects(begin('standby', 'nobody'), /ECONNREFUSED/)

  await pair.promote()
  // The old primary does not know, and accepts writes again.
  await reset(pair.primary, "synchronous_standby_names = ''")
  t.equal(await portOf('primary', 'standby'), ports.standby)
  t.equal(await portOf('standby', 'primary'), ports.standby)
})
