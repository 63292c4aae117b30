import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../until.ts'
import { openProxy } from './proxy.ts'
import { type PostgresOptions, preparePostgres, runPostgres } from './server.ts'
import { runAsUser } from './user.ts'

const SETTINGS = { wal_retrieve_retry_interval: '100ms', wal_receiver_timeout: '2s', wal_sender_timeout: '2s' }

/** Starts a primary and a standby that every commit waits for. */
export async function runPair({ settings, ...options }: PostgresOptions = {}) {
  const all = { ...options, settings: { ...SETTINGS, ...settings } }
  const primary = await runPostgres(all)
  const network = await openProxy(primary.port)
  const standby = await prepareStandby(all, network.through(primary.url()))
  await standby.start()
  await until(isStreaming)
  await primary.query("ALTER SYSTEM SET synchronous_standby_names = 'standby'")
  await primary.query('SELECT pg_reload_conf()')
  await until(async () => (await state())?.sync_state === 'sync')

  async function state(): Promise<{ state: string; sync_state: string } | undefined> {
    return (await primary.query('SELECT state, sync_state FROM pg_stat_replication'))[0]
  }
  async function isStreaming(): Promise<boolean> {
    return (await state())?.state === 'streaming'
  }

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
    async stop() {
      await Promise.all([primary.stop(), standby.stop()])
      await network.stop()
    },
  }
}

/** A cold copy of what the primary began as. All that it did since is streamed to it. */
async function prepareStandby(options: PostgresOptions, primary: string) {
  const standby = await preparePostgres(options)
  standby.configure({ primary_conninfo: `${primary}?application_name=standby` })
  writeFileSync(join(standby.data, 'standby.signal'), '', { mode: 0o644 })
  return standby
}
