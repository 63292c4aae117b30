import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readFileSync, readSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig, settings } from '../../src/config.ts'
import type { ApplicationKey } from '../../src/domain/application.ts'
import type { Event } from '../../src/domain/events.ts'
import { mintToken } from '../../src/domain/token.ts'
import { describe } from '../../src/server/admin.ts'
import { openStores } from '../../src/server/serve.ts'
import { createTelemetry } from '../../src/server/telemetry.ts'
import { openSqlite } from '../../src/store/sqlite/store.ts'
import { VERSION } from '../../src/version.ts'
import { AUDIT } from '../support/on.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

t.test('About: every setting is shown as it is written, without passwords', async (t) => {
  const env = {
    DATABASE_URL: 'postgres://u:hunter2@db.example:5433/tokens?sslmode=disable',
    TRUST_PROXY: '10.0.0.0/8, ::1',
    CONNECTION_LIMIT: 'off',
    FAILURE_LIMIT: 'off',
    TOKEN_QUOTA: '3600,report-only',
    OPS_ADDRESS: '[::1]:9464',
    ADMIN_ADDRESS: 'unix:/run/admin.sock',
  }
  const about = describe(readConfig({ ...env, PGPASSWORD: 'hunter2' }), 5)
  t.match(about, { version: VERSION, node: process.versions.node, store: 'PostgreSQL', startedAt: 5 })
  t.strictSame(about.urls, {
    publicUrl: 'http://localhost:8080',
    introspectionUrl: 'http://localhost:8080/v1/oauth/introspect',
    docsUrl: undefined,
    opsUrl: 'http://[::1]:9464',
  })
  const values = Object.fromEntries(about.settings.map(({ name, value }) => [name, value]))
  t.strictSame(Object.keys(values), Object.keys(settings))
  t.match(values, { ...env, DATABASE_URL: 'postgres://db.example:5433/tokens', DOCS_URL: 'none' })
  t.notMatch(JSON.stringify(about), 'hunter2')
  const withTls = describe(readConfig({ ...env, OPS_TLS_CERT_FILE: '/cert', OPS_TLS_KEY_FILE: '/key' }), 5)
  t.equal(withTls.urls.opsUrl, 'https://[::1]:9464')
})

t.test('About: by default every setting is shown as its default is written', async (t) => {
  const { settings: shown, store } = describe(readConfig({ PUBLIC_URL: settings.PUBLIC_URL.default }), 0)
  t.equal(store, 'SQLite')
  for (const { name, value } of shown) {
    const { default: byDefault } = settings[name as keyof typeof settings]
    t.equal(value, byDefault.replace('PORT', '8080'), name)
  }
})

t.test('About: settings that are not given are not shown', async (t) => {
  const { DATABASE_URL, ADMIN_URL } = readConfig({})
  t.strictSame(describe({ DATABASE_URL, ADMIN_URL }, 0).settings, [
    { name: 'DATABASE_URL', value: 'sqlite:./data/token-server.db', meaning: settings.DATABASE_URL.meaning },
    { name: 'ADMIN_URL', value: 'none', meaning: settings.ADMIN_URL.meaning },
  ])
})

const LOCK = { lockTimeout: 0 }
const MOVED_TO = 'postgres://h:5432/d'

t.test('Opening: a store that has moved is served with a warning', async (t) => {
  const file = join(temporaryFolder(t), 'store.db')
  const events: Event[] = []
  const locations = { DATABASE_URL: { kind: 'sqlite', file }, PREVIOUS_DATABASE_URL: undefined } as const
  const open = () => openStores(locations, LOCK, (event) => events.push(event))
  await (await open()).close()
  t.strictSame(events.splice(0), [{ type: 'database created', database: file }])
  const store = openSqlite(file, LOCK)
  await store.move.begin(MOVED_TO, 0)
  await store.close()
  const moved = await open()
  t.strictSame(events, [{ type: 'database has moved', movedTo: MOVED_TO }])
  await moved.ping()
  await moved.close()
})

t.test('Opening: the store that was copied to the end is asked for tokens, too; any other is refused', async (t) => {
  const file = join(temporaryFolder(t), 'old.db')
  const locations = {
    DATABASE_URL: { kind: 'sqlite', file: ':memory:' },
    PREVIOUS_DATABASE_URL: { kind: 'sqlite', file },
  } as const
  const open = () => openStores(locations, LOCK, () => t.fail('no event is expected'))
  const isRefused = (message: RegExp, name = 'OperatorError') => t.rejects(open(), { name, message })
  await isRefused(/^PREVIOUS_DATABASE_URL: there is no database at .*old\.db: correct the setting\.$/)
  writeFileSync(file, 'no database'.repeat(100))
  await isRefused(/old\.db cannot be opened: /, 'StoreUnavailable')
  rmSync(file)
  const previous = openSqlite(file, LOCK)
  t.teardown(() => previous.close())
  await isRefused(/^PREVIOUS_DATABASE_URL: .*old\.db was not copied/)
  await previous.move.begin(MOVED_TO, 0)
  await isRefused(/^PREVIOUS_DATABASE_URL: .*old\.db is being copied to postgres:.*, or that was interrupted/)
  await previous.move.complete(MOVED_TO, 0, AUDIT)
  const { stored } = mintToken(1 as unknown as ApplicationKey, Date.now())
  await previous.addToken(stored)
  const store = await open()
  t.equal(store.previous, previous.database)
  t.match(await store.findToken(stored.id), { stored })
  await store.close()
})

const REFUSAL = {
  ...({ type: 'authentication refused', reason: 'wrong secret', clientId: 'a', status: 401 } as const),
  ...({ endpoint: '/v1/oauth/accesstoken', requestId: 'r', remoteAddress: '192.0.2.1' } as const),
}

t.test('Telemetry: very many refusals of one address are counted, unless FAILURE_LIMIT is off', async (t) => {
  for (const [limitRefusals, lines, last] of [
    [true, 101, 'refusals not logged'],
    [false, 150, 'authentication refused'],
  ] as const) {
    const destination = join(temporaryFolder(t), 'log')
    const { observe, flush } = createTelemetry('info', { isTTY: false, destination, limitRefusals })
    for (let n = 0; n < 150; n++) observe(REFUSAL)
    await flush()
    const logged = readFileSync(destination, 'utf8').trimEnd().split('\n')
    t.equal(logged.length, lines)
    t.equal(JSON.parse(logged.at(-1) as string).msg, last)
  }
})

t.test('Telemetry: dropped lines of the log are counted if events are counted', async (t) => {
  const full = { isTTY: false, destination: '/dev/full' }
  for (const counts of [true, false]) {
    const { observe, flush, counters } = createTelemetry('info', { ...full, counts })
    for (let n = 0; n < 2; n++) observe(REFUSAL)
    await flush()
    const [dropped] = counters?.seriesOf('log_lines_dropped_total') ?? []
    t.equal(dropped && counters?.valueAt(dropped.at), counts ? 2 : undefined)
  }
})

t.test('Telemetry: when the log can be written again, it has a line with the number of dropped lines', async (t) => {
  const destination = join(temporaryFolder(t), 'log')
  execFileSync('mkfifo', [destination])
  const openReader = () => openSync(destination, constants.O_RDONLY | constants.O_NONBLOCK)
  const first = openReader()
  const { observe, flush } = createTelemetry('info', { isTTY: false, destination })
  closeSync(first)
  for (let n = 0; n < 2; n++) observe(REFUSAL)
  await flush()

  const reader = openReader()
  t.teardown(() => closeSync(reader))
  observe(REFUSAL)
  await flush()
  const piece = Buffer.alloc(64 * 1024)
  const text = piece.toString('utf8', 0, readSync(reader, piece))
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.match(lines, [{ msg: 'authentication refused' }, { msg: 'log lines dropped', count: 2 }])
})
