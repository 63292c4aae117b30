import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { until } from '../until.ts'
import { createDatabase, findTemplate, query } from './databases.ts'
import { startProxy } from './proxy.ts'
import { type PostgresOptions, preparePostgres, runPostgres } from './server.ts'
import { sharedServer } from './shared.ts'
import { runAsUser } from './user.ts'

const SETTINGS = { wal_retrieve_retry_interval: '100ms', wal_receiver_timeout: '2s', wal_sender_timeout: '2s' }

/** A PostgreSQL server that ends with the test: for tests that break or configure it. */
export async function startPostgres(t: Test, options?: PostgresOptions) {
  const server = await runPostgres(options)
  t.teardown(() => server.stop())
  return server
}

/** A primary, and a standby that every commit waits for, that end with the test. */
export async function startPair(t: Test) {
  const primary = await startPostgres(t, { settings: SETTINGS })
  const network = await startProxy(t, primary.port)
  // A cold copy of what the primary began as. All that it did since is streamed to it.
  const standby = await preparePostgres({ settings: SETTINGS })
  t.teardown(() => standby.stop())
  standby.configure({ primary_conninfo: `${network.through(primary.url())}?application_name=standby` })
  writeFileSync(join(standby.data, 'standby.signal'), '', { mode: 0o644 })
  await standby.start()
  const state = async () => (await primary.query('SELECT state, sync_state FROM pg_stat_replication'))[0]
  await until(async () => (await state())?.state === 'streaming')
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
  await primary.query('SELECT pg_reload_conf()')
  await until(async () => (await state())?.sync_state === 'sync')

  /** A commit waits until the standby has it, not until it shows. */
  async function createDatabase(): Promise<string> {
    const url = await primary.createDatabase()
    const name = new URL(url).pathname.slice(1)
    const find = () => standby.query('SELECT FROM pg_database WHERE datname = $1', [name])
    await until(async () => (await find()).length === 1)
    return url
  }

  return {
    primary: { ...primary, createDatabase },
    standby,
    /** What the standby hears of the primary goes through it. */
    network,
    /** The same address, with both servers in it. */
    both: (url: string) => url.replace(`:${primary.port}`, `:${primary.port},127.0.0.1:${standby.port}`),
    /** Makes a primary of the standby. It takes writes when this resolves. */
    async promote() {
      runAsUser(join(standby.binaries, 'pg_ctl'), ['promote', '-D', standby.data, '-w'])
      await until(async () => !(await standby.query('SELECT pg_is_in_recovery() AS recovers'))[0].recovers)
    },
  }
}

/** Databases on the server that all tests of a run share: migrated ones. */
export async function startDatabases() {
  const url = await sharedServer()
  const template = await findTemplate(url)
  return {
    createDatabase: () => createDatabase(url, template),
    createEmptyDatabase: () => createDatabase(url),
    /** Runs a statement as the superuser, in a database. */
    query: (text: string, database = 'postgres') => query(new URL(`/${database}`, url).href, text),
  }
}
