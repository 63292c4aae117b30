import { type ChildProcess, execFileSync, type StdioOptions, spawn } from 'node:child_process'
import { appendFileSync, closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { until } from '../until.ts'
import { findBinaries, makeTemplate, temporaryFolderOfUser, versionOf } from './binaries.ts'
import { createDatabase, query } from './databases.ts'
import { quietPort } from './ports.ts'
import { childrenOf, type EndWith, endWithProcess, isAlive, signalTo } from './processes.ts'
import { AS_USER, runAsUser } from './user.ts'

export interface PostgresOptions {
  /** Whether every commit is on the disk before it is acknowledged. */
  durable?: boolean
  /** What postgresql.conf says besides. */
  settings?: Record<string, string>
  binaries?: string
  /** The process that it ends with, where that is not this one. */
  endWith?: EndWith
}

/** Starts a PostgreSQL server of its own, with an empty data directory, on a free port of 127.0.0.1. */
export async function runPostgres(options: PostgresOptions = {}) {
  const server = await preparePostgres(options)
  await server.start()
  return server
}

/** The same, not started yet. */
export async function preparePostgres({ durable = false, settings = {}, binaries: found, endWith }: PostgresOptions) {
  const { binaries, folder: template } = makeTemplate(found ?? findBinaries())
  const folder = temporaryFolderOfUser(join(tmpdir(), 'token-server-postgres-'))
  const data = join(folder, 'data')
  const log = join(folder, 'log')
  const watcher = endWithProcess(folder, endWith)
  runAsUser('cp', ['-R', join(template, 'data'), data])
  const password = readFileSync(join(template, 'password'), 'utf8')
  const port = await quietPort()
  configure({
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    fsync: durable ? 'on' : 'off',
    shared_buffers: '16MB',
    // Logging in costs a few milliseconds otherwise.
    ...(Number.parseInt(versionOf(binaries), 10) >= 16 && { scram_iterations: '1' }),
    // Nothing is left in /dev/shm by a kill.
    dynamic_shared_memory_type: 'mmap',
    ...settings,
  })
  let postmaster: ChildProcess | undefined

  /** Adds to postgresql.conf. It is read at the next start. */
  function configure(settings: Record<string, string>): void {
    const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    appendFileSync(join(data, 'postgresql.conf'), lines.join(''))
  }

  /** The address of a database, with the superuser's name and password. */
  const url = (database = 'postgres') => `postgres://postgres:${password}@127.0.0.1:${port}/${database}`

  async function start(): Promise<void> {
    const output = openSync(log, 'a')
    const stdio: StdioOptions = ['ignore', output, output]
    const child = spawn(join(binaries, 'postgres'), ['-D', data], { ...AS_USER, detached: true, stdio })
    closeSync(output)
    child.unref()
    postmaster = child
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`PostgreSQL did not start: ${readFileSync(log, 'utf8')}`)
      return await answers(url())
    })
  }

  const pid = () => postmaster?.pid as number

  /** Ends it as if the machine had died, or by another signal. `start` brings it back. */
  async function kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const family = [pid(), ...childrenOf(pid())]
    const segment = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[6]?.trim().split(/\s+/)[1]
    for (const member of signal === 'SIGKILL' ? family : family.slice(0, 1)) signalTo(member, signal)
    await until(() => !family.some(isAlive))
    if (signal !== 'SIGKILL') return
    // What it left behind: a number that another process may get, and a segment of memory.
    rmSync(join(data, 'postmaster.pid'), { force: true })
    if (segment) execFileSync('ipcrm', ['-m', segment], { ...AS_USER, stdio: 'ignore' })
  }

  /** Stops all its processes, as a machine that hangs: connections stay, and nothing answers. */
  function suspend(): void {
    signalTo(pid(), 'SIGSTOP')
    for (const child of childrenOf(pid())) signalTo(child, 'SIGSTOP')
  }

  function resume(): void {
    for (const process of [...childrenOf(pid()), pid()]) signalTo(process, 'SIGCONT')
  }

  return {
    binaries,
    data,
    port,
    url,
    pid,
    configure,
    start,
    kill,
    suspend,
    resume,
    /** Runs a statement as the superuser, on a connection of its own, and resolves to its rows. */
    query: (text: string, values?: unknown[], database?: string) => query(url(database), text, values),
    /** The address of an empty database that belongs to a role without other rights, which logs in by a password. */
    createDatabase: () => createDatabase(url()),
    log: () => readFileSync(log, 'utf8'),
    stop: watcher.end,
  }
}

export async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.end()
    return true
  } catch {
    return false
  }
}
