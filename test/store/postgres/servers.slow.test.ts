import { execFileSync } from 'node:child_process'
import { chmodSync, chownSync, copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PostgresLocation } from '../../../src/domain/database-location.ts'
import type { Event } from '../../../src/domain/events.ts'
import { mintToken } from '../../../src/domain/token.ts'
import { openStore } from '../../../src/store/open.ts'
import type { OpenOptions } from '../../../src/store/opened.ts'
import { AUDIT } from '../../support/audit.ts'
import { isReady } from '../../support/is-ready.ts'
import { keyOf } from '../../support/keys.ts'
import { logged } from '../../support/logged.ts'
import { needs } from '../../support/needs.ts'
import { suite } from '../../support/newcomers.ts'
import { holdOpen, query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases, startPostgres } from '../../support/postgres/postgres.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'
import { START } from '../../support/world.ts'
import { newKey } from '../conformance/harness.ts'

const { createDatabase } = await startDatabases()

async function newLocation() {
  const url = await createDatabase()
  return { url, location: locationOf(url) }
}

async function open(t: Test, location: PostgresLocation, options: Partial<OpenOptions> = {}) {
  const store = await openStore(location, { lockTimeout: 1000, ...options })
  t.teardown(() => store.close())
  return store
}

t.test('Changes: one that waits for another says so in the end, and the session lives on', async (t) => {
  const { url, location } = await newLocation()
  const events: Event[] = []
  // As long as a command waits.
  const store = await open(t, location, { lockTimeout: 10_000, observe: (event) => events.push(event) })
  const end = await holdOpen(t, url, 'SELECT registry FROM changes FOR UPDATE')
  await t.rejects(store.register({ suites: [suite('s')], applications: [] }, AUDIT), {
    name: 'StoreUnavailable',
    message: /55P03, .*\(another node or command is changing the same, or a pg_dump uses it: wait until/,
  })
  await end()
  t.strictSame(logged(events), [])
  t.match(await store.register({ suites: [suite('s')], applications: [] }, AUDIT), { suites: [{ suiteId: 's' }] })
})

t.test('PostgreSQL: where nothing answers the start ends after some seconds, with the reason', async (t) => {
  const { location } = await newLocation()
  await t.rejects(open(t, { ...location, hosts: [{ host: '127.0.0.1', port: 1 }] }), {
    name: 'StoreUnavailable',
    message: /PostgreSQL at 127\.0\.0\.1:1: .*ECONNREFUSED/,
  })
})

t.test('A locked table: what waits for it does not become more', async (t) => {
  const { url, location } = await newLocation()
  const store = await open(t, location)
  const key = await newKey(store, 'a')
  const waiting = async () => {
    const where = "wait_event_type = 'Lock' AND usename = current_user"
    const [row] = await query(url, `SELECT count(*)::int AS n FROM pg_stat_activity WHERE ${where}`)
    return row.n as number
  }
  const locked = query(url, 'BEGIN; LOCK TABLE tokens; SELECT pg_sleep(7); COMMIT')
  await until(async () => {
    await store.addToken(mintToken(key, Date.now()).stored).catch(() => {})
    return (await waiting()) > 0
  })
  let most = 0
  let isOver = false
  const done = locked.then(() => {
    isOver = true
  })
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

t.test(
  'A server of its own: an answer that never comes took its time, and one that syncs no more is used no more',
  async (t) => {
    const own = await startPostgres(t)
    const events: Event[] = []
    const store = await open(t, locationOf(await own.createDatabase()), { observe: (event) => events.push(event) })
    events.length = 0
    own.suspend()
    await t.rejects(store.addToken(mintToken(keyOf(1), START).stored), { name: 'StoreUnavailable' })
    own.resume()
    const isSlowWrite = (event: Event) => event.type === 'round trip' && event.kind === 'write' && event.seconds > 1
    t.ok(events.some(isSlowWrite), 'else it would be missing when the database is slowest')

    await until(() => isReady(store))
    await own.query('ALTER SYSTEM SET synchronous_commit = off')
    await own.query('SELECT pg_reload_conf()')
    await until(async () => !(await isReady(store)))
    await t.rejects(store.findSuite('a'), { name: 'StoreUnavailable', message: /synchronous_commit is off/ })
  },
)

const skip = needs('openssl')

t.test('PostgreSQL with TLS: the server has to prove who it is', { skip }, async (t) => {
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
  const [row] = await secure.query(
    "SELECT bool_and(ssl) AS all FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'token-server'",
  )
  t.equal(row.all, true)
  await t.rejects(open(t, { ...byName, tls: { rootCertificateFile: undefined } }), /self-signed certificate/)
  await t.rejects(open(t, { ...location, tls: { rootCertificateFile: certificate } }), /IP: 127\.0\.0\.1/)
})
