import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import type { ApplicationKey } from '../../../src/domain/application.ts'
import type { PostgresHost, PostgresLocation } from '../../../src/domain/database-location.ts'
import type { Event } from '../../../src/domain/events.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'
import { StoreUnavailable } from '../../../src/domain/store.ts'
import { mintToken, TOKEN_LIFETIME } from '../../../src/domain/token.ts'
import { backUpStore, restoreStore } from '../../../src/store/open.ts'
import { passwordFor } from '../../../src/store/postgres/client-config.ts'
import { askWithin } from '../../../src/store/postgres/connection.ts'
import { unavailable } from '../../../src/store/postgres/errors.ts'
import { openSession } from '../../../src/store/postgres/session.ts'
import { isReady } from '../../support/is-ready.ts'
import { AUTHOR } from '../../support/on.ts'
import { query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'
import { startProxy } from '../../support/postgres/proxy.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'
import { keyOf } from '../../support/world.ts'
import { newKey } from '../conformance/harness.ts'
import { connectTo, newLocation, open } from './stores.ts'

const server = await startDatabases()

/** A migrated database, for tests that leave it and its role as they are. */
const shared = await newLocation()

const begin = (location: PostgresLocation) => openSession(location, { observe() {} })

t.test('A statement without an answer: the error has whole milliseconds', async (t) => {
  const connection = await connectTo(shared.url)
  await t.rejects(connection.send('SELECT pg_sleep(1)', [], 49.97), { isSilent: true, message: /within 50 ms$/ })
})

for (const [code, because] of Object.entries({
  '57P01': 'the server shuts down',
  '57P02': 'another process of it crashed',
  '08006': 'the connection failed',
  25006: 'it is no longer the primary',
})) {
  t.test(`A connection is not used after an error by which ${because}`, async (t) => {
    const connection = await connectTo(shared.url)
    const failing = `DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$`
    await t.rejects(connection.send(failing, [], 5000), { code })
    await t.rejects(connection.send('SELECT 1', [], 5000), { code })
  })
}

t.test('A write: a warning is no commit, an error ends no session, and neither repeats values', async (t) => {
  const session = await begin(shared.location)
  t.teardown(() => session.end(new StoreUnavailable('the test ends') as never))
  await t.rejects(session.write('SELECT 1 / 0', []), { name: 'StoreUnavailable', code: '22012' })
  const error = await session.write('SELECT $1::uuid', ['hunter2']).catch((error: Error) => error)
  t.match(error, { name: 'StoreUnavailable', message: /error 22P02/ })
  t.notMatch(inspect(error, { depth: null, showHidden: true }), /hunter2/)
  await session.write("DO $$ BEGIN RAISE NOTICE 'all is well'  USING ERRCODE = '00000'; END $$", [])
  // From a German server: the severity is a word, and the code is the same everywhere.
  const warning = "DO $$ BEGIN RAISE NOTICE 'WARNUNG: breche Warten ab' USING ERRCODE = '01000'; END $$"
  await t.rejects(session.write(warning, []), { name: 'StoreUnavailable', message: /breche Warten ab/ })
  await t.rejects(session.write('SELECT 1', []), StoreUnavailable, 'and the connection is not used again')
})

t.test('A host name with several silent addresses: the first error is reported, and it is retried', async (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED ::1:9'), { code: 'ECONNREFUSED', syscall: 'connect' })
  const error = unavailable({ host: 'two.example', port: 9 }, new AggregateError([refused, refused]))
  const advice = 'no server listens there: start it, or correct the address in DATABASE_URL'
  const message = `PostgreSQL at two.example:9: connect ECONNREFUSED ::1:9 (${advice})`
  t.match(error, { message, isMisconfigured: false })
})

t.test('Settings of a role, or PGSSLMODE, change neither what is read nor the connection', async (t) => {
  const { location } = await newLocation()
  const settings = { bytea_output: 'escape', default_transaction_isolation: 'serializable', timezone: 'Asia/Kolkata' }
  for (const [name, value] of Object.entries(settings))
    await server.query(`ALTER ROLE ${location.user} SET ${name} = '${value}'`)
  process.env.PGSSLMODE = 'require'
  t.teardown(() => delete process.env.PGSSLMODE)
  const store = await open(t, location)
  const token = mintToken(await newKey(store, 'a'), Date.now()).stored
  await store.addToken(token)
  t.match(await store.findToken(token.id), { stored: token })
  await store.ping()
})

t.test('The row of changes: without it nothing is answered, and each database has its own version', async (t) => {
  const versions: string[] = []
  for (let time = 0; time < 2; time++) {
    const { url, location } = await newLocation()
    const store = await open(t, location)
    await newKey(store, 'a')
    versions.push((await query(url, 'DELETE FROM changes RETURNING registry'))[0].registry)
    await t.rejects(store.findSuite('a'), { name: 'StoreUnavailable', message: /table changes has no row/ })
  }
  t.not(versions[0], versions[1])
})

/** A database whose role has its own version of a function of PostgreSQL. */
async function newLocationWith(definition: string) {
  const { url, location } = await newLocation()
  await server.query(`ALTER ROLE ${location.user} SET search_path = public, pg_catalog`)
  await server.query(definition, location.database)
  return { url, location }
}

t.test('A session needs one server for all connections, and ends when the server is replaced', async (t) => {
  const startedAt = 'CREATE FUNCTION pg_postmaster_start_time() RETURNS timestamptz LANGUAGE sql AS'
  const two = await newLocationWith(`${startedAt} 'SELECT pg_catalog.clock_timestamp()'`)
  const another = /another server has the address now/
  await t.rejects(begin(two.location), { name: 'StoreUnavailable', message: another })
  const { url, location } = await newLocationWith(`
    CREATE TABLE public.started (at timestamptz); INSERT INTO started VALUES ('2026-01-01'); GRANT ALL ON started TO PUBLIC;
    ${startedAt} 'SELECT at FROM public.started'`)
  const session = await begin(location)
  const settings = "SELECT current_setting('enable_seqscan'), current_setting('jit')"
  const [found] = await askWithin(session.reads, 1000)(settings)
  t.strictSame(found, ['off', 'off'], 'PostgreSQL before 18 would compile every plan')
  await query(url, "UPDATE started SET at = '2026-01-02'")
  t.match(await session.ended, { message: another })
})

const AN_HOUR_AHEAD = "pg_catalog.clock_timestamp() + interval '1 hour'"
for (const [rule, definition] of [
  ['that differs', `AS $$SELECT ${AN_HOUR_AHEAD}$$`],
  [
    'that differs, where the first answer takes too long to compare them,',
    `AS $$SELECT ${AN_HOUR_AHEAD} FROM pg_sleep(CASE nextval('public.calls') WHEN 1 THEN 0.6 ELSE 0 END)$$`,
  ],
] as const) {
  t.test(`A node is not ready with a clock ${rule} from that of the database`, async (t) => {
    const { location } = await newLocationWith(`
      CREATE SEQUENCE public.calls; GRANT ALL ON SEQUENCE calls TO PUBLIC;
      CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql ${definition}`)
    await server.query('ALTER FUNCTION clock_timestamp() OWNER TO postgres', location.database)
    const store = await open(t, location)
    await t.rejects(store.ping(), { name: 'StoreUnavailable', message: /are 3[56]\d{5} ms apart/ })
    t.ok((store.clockOffset() as number) > 3_500_000)
  })
}

t.test('A node whose last write failed is not ready until a write succeeds', async (t) => {
  const { url, location } = await newLocation()
  const store = await open(t, location)
  const add = (key: ApplicationKey) => store.addToken(mintToken(key, Date.now()).stored)
  const key = await newKey(store, 'a')
  const tokens = async () => (await query(url, 'SELECT application_id::int AS of FROM tokens')).map(({ of }) => of)
  await query(
    url,
    `CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
       $$BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END$$;
     CREATE TRIGGER full_disk BEFORE INSERT ON tokens EXECUTE FUNCTION fail()`,
  )
  await t.resolves(store.ping(), 'nothing has failed yet')
  await t.rejects(add(key), /its disk is full/)
  for (let time = 0; time < 2; time++) await t.rejects(store.ping(), /its disk is full/)
  await query(url, 'DROP TRIGGER full_disk ON tokens')
  for (let time = 0; time < 2; time++) await t.resolves(store.ping())
  t.strictSame(await tokens(), [0], 'one write was tried')
  t.equal(await store.purge('tokens', Date.now() - TOKEN_LIFETIME + 1, 10), 1, 'and its token has expired')
})

t.test('Settings that become wrong cause 503, with the reason, until they are fixed', async (t) => {
  const { url, location } = await newLocation()
  const passwordFile = join(temporaryFolder(t), 'password')
  writeFileSync(passwordFile, location.password as string)
  const store = await open(t, { ...location, passwordFile })
  rmSync(passwordFile)
  const others = 'usename = current_user AND pid <> pg_backend_pid()'
  await query(url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`)
  await until(async () => {
    const error = await store.findSuite('a').catch((error: Error) => error)
    return error instanceof StoreUnavailable && /DATABASE_PASSWORD_FILE, .* cannot be read/.test(error.message)
  })
  writeFileSync(passwordFile, location.password as string)
  await until(() => isReady(store))
})

t.test('Measurements: each statement with its kind, each transaction of tokens, and the size', async (t) => {
  const events: Event[] = []
  const store = await open(t, shared.location, { observe: (event) => events.push(event) })
  /** The events of an action, without the heartbeats. */
  async function causedBy(action: () => Promise<unknown>) {
    events.length = 0
    await action()
    for (const event of events) t.ok((event as { seconds: number }).seconds > 0, event.type)
    return events.map((event) => ('kind' in event ? event.kind : `${event.type} ${'size' in event && event.size}`))
  }
  const token = () => mintToken(keyOf(1), Date.now()).stored
  const [one, two, three] = [token(), token(), token()]
  const written = await causedBy(() => Promise.all([store.addToken(one), store.addToken(two)]))
  t.strictSame(written.slice(-2), ['write', 'batch written 2'])
  const both = await causedBy(() => Promise.all([store.revokeToken(one.id, 1), store.addToken(three)]))
  t.strictSame(both.slice(-4), ['write', 'batch written 1', 'write', 'batch written 1'])
  t.ok((await causedBy(() => store.findToken(one.id))).includes('read'))
  t.ok((await causedBy(() => store.countApplications())).includes('command'))
  const { database, log } = (await store.measure(0)).size
  t.ok(database > 1_000_000)
  t.equal(log, undefined)
})

/** The location of a new database without tables. */
const emptyLocation = async () => locationOf(await server.createEmptyDatabase())

/** Sets PGPASSFILE for the rest of a test. */
function withPassfile(t: Test, file: string): void {
  process.env.PGPASSFILE = file
  t.teardown(() => delete process.env.PGPASSFILE)
}

t.test('PostgreSQL: the password comes from a file, the URL, or PGPASSFILE, and the file is read again', async (t) => {
  const { location } = shared
  const password = location.password as string
  const file = join(temporaryFolder(t), 'password')
  writeFileSync(file, `${password}\n`)
  await open(t, { ...location, password: 'wrong', passwordFile: file })
  await open(t, location)

  const passfile = join(temporaryFolder(t), 'pgpass')
  writeFileSync(passfile, `*:*:*:${location.user}:${password}\n`, { mode: 0o600 })
  withPassfile(t, passfile)
  const { password: _, ...withoutPassword } = location
  await open(t, { ...withoutPassword, password: undefined })
})

t.test('PostgreSQL: what is wrong is reported at once, and leaves neither a secret nor a connection', async (t) => {
  const proxy = await startProxy(t, Number(new URL(shared.url).port))
  const location = locationOf(proxy.through(shared.url))
  const file = join(temporaryFolder(t), 'ca.pem')
  writeFileSync(file, 'nothing')
  const withRoot = (rootCertificateFile?: string) => ({ tls: { rootCertificateFile } })
  const wrong: [change: Partial<PostgresLocation>, message: RegExp][] = [
    [{ password: 'hunter2' }, /28P01, password authentication failed .* \(check DATABASE_PASSWORD_FILE/],
    [{ password: undefined }, /asks for a password, and none is set \(check DATABASE_PASSWORD_FILE/],
    [{ database: 'nowhere' }, /3D000, database "nowhere" does not exist \(create the database\)/],
    [{ passwordFile: '/nowhere/secret' }, /DATABASE_PASSWORD_FILE, \/nowhere\/secret, cannot be read: ENOENT/],
    [withRoot(), /does not support SSL/],
    [withRoot(file), /does not support SSL/],
    [withRoot('/nowhere'), /file of sslrootcert, \/nowhere, cannot be read: ENOENT/],
  ]
  for (const [change, message] of wrong) {
    const error = await open(t, { ...location, ...change }).catch((error: Error) => error)
    t.match(error, { message, ...(change.database && { isMisconfigured: true }) })
    t.notMatch((error as Error).message, new RegExp(`hunter2|${location.password}`))
  }
  await until(() => proxy.connections() === 0)
})

t.test('PostgreSQL: a server that may lose commits is refused', async (t) => {
  for (const synchronousCommit of ['off', 'local']) {
    const location = await emptyLocation()
    await server.query(`ALTER ROLE ${location.user} SET synchronous_commit = ${synchronousCommit}`)
    const message = new RegExp(`synchronous_commit is ${synchronousCommit} for this role or database`)
    await t.rejects(open(t, location), { name: 'OperatorError', message })
  }
  const location = await emptyLocation()
  const database = `${location.database}_latin1`
  const encoding = "ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'"
  await server.query(`CREATE DATABASE ${database} OWNER ${location.user} ${encoding}`)
  await t.rejects(open(t, { ...location, database }), { name: 'OperatorError', message: /encoding LATIN1/ })
})

t.test("PostgreSQL: another program's database is left alone, and so is an empty one by default", async (t) => {
  const location = await emptyLocation()
  const isEmpty = { name: 'OperatorError', message: /^The database postgres:\S+ is empty\. / }
  await t.rejects(open(t, location, { create: false }), isEmpty)
  t.strictSame(await server.query("SELECT FROM pg_tables WHERE schemaname = 'public'", location.database), [])
  await server.query('CREATE TABLE theirs (id integer)', location.database)
  for (const create of [true, false]) {
    const refusal = { name: 'OperatorError', message: /tables of another program/ }
    await t.rejects(open(t, location, { create }), refusal)
  }
  await server.query('DROP TABLE theirs', location.database)
  const store = await open(t, location)
  const database = `postgres://127.0.0.1:${location.hosts[0]?.port}/${location.database}`
  t.match(store, { database, migrated: { from: 0 } })
  const again = await open(t, location, { create: false })
  t.equal(again.migrated.from, again.migrated.to)
})

t.test('PostgreSQL: backup and restore are left to its own tools', async (t) => {
  const { location } = shared
  await t.rejects(backUpStore(location, '-', { withoutTokens: false, now: Date.now }), OperatorError)
  await t.rejects(restoreStore(location, '-', { revokeAllTokens: false, now: Date.now, author: AUTHOR }), OperatorError)
})

t.test('Password: a PGPASSFILE that others may read, or that is no file, is refused for every host', async (t) => {
  const file = join(temporaryFolder(t), 'pgpass')
  writeFileSync(file, '*:*:*:token_server:password\n', { mode: 0o644 })
  const location = locationOf('postgres://token_server@a,b,c/d')
  for (const refused of [file, '/dev/null']) {
    withPassfile(t, refused)
    const message = `PGPASSFILE is not used: ${refused} must be a plain file that only its owner can access (chmod 600).`
    for (const host of location.hosts) await t.rejects(passwordFor(location, host), { name: 'OperatorError', message })
  }
})

function passwordAt(url: string) {
  const location = locationOf(url)
  return passwordFor(location, location.hosts[0] as PostgresHost)
}

t.test('Password: the first line of PGPASSFILE that fits host, port, database and user has it', async (t) => {
  const file = join(temporaryFolder(t), 'pgpass')
  const lines = [
    '# a comment: is no entry',
    'a:5432:d:u',
    'a:5432:d:u:',
    'a:5432:d:other:of-another-user',
    'a:5433:d:u:of-another-port',
    String.raw`a:5432:d:u:with\:colon:and\\backslash`,
    'a:*:d:u:of-any-port',
    '*:5432:*:*:of-any',
  ]
  writeFileSync(file, `${lines.join('\r\n')}\n`, { mode: 0o600 })
  withPassfile(t, file)
  for (const [url, password] of [
    ['postgres://u@a/d', String.raw`with:colon:and\backslash`],
    ['postgres://u@a:5433/d', 'of-another-port'],
    ['postgres://u@a:5434/d', 'of-any-port'],
    ['postgres://u@b/e', 'of-any'],
    ['postgres://u@b:5433/e', undefined],
  ] as const) {
    t.equal(await passwordAt(url), password, url)
  }
  withPassfile(t, `${file}-nowhere`)
  t.equal(await passwordAt('postgres://u@a/d'), undefined)
})
