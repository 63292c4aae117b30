import { spawnSync } from 'node:child_process'
import { totalmem } from 'node:os'
import { runPostgres } from '../../../test/support/postgres/server.ts'
import { cpuTime, processTree } from './proc-stat.ts'
import { canPin } from './server-process.ts'

export type Postgres = Awaited<ReturnType<typeof startPostgres>>

/** The server that a contender's database is on. */
export type Database = Pick<Postgres, 'cpuTime'>

/** A quarter of the machine's memory, as its documentation says; nothing else differs from what it comes with. */
const SETTINGS = { shared_buffers: `${Math.floor(totalmem() / 4 / 2 ** 20)}MB` }

/** Starts a PostgreSQL server that waits for its disk at every commit, on the core of the load program. */
export async function startPostgres() {
  const server = await runPostgres({ durable: true, settings: SETTINGS })
  // The first one first: what it starts later is where it is. One that has ended meanwhile does not matter.
  if (canPin) for (const pid of processTree(server.pid())) spawnSync('taskset', ['-cp', '1', String(pid)])

  /** Makes an empty database. Returns its URL. */
  const createDatabase = () => server.createDatabase()

  /** Runs a statement in one of its databases, with all rights. Returns the rows. */
  const query = (url: string, text: string, values?: unknown[]) =>
    server.query(text, values, new URL(url).pathname.slice(1))

  const [{ server_version: version }] = await server.query('SHOW server_version')

  return {
    version: version as string,
    createDatabase,
    query,
    /** Of all its processes, in microseconds. */
    cpuTime: () => cpuTime(server.pid()),
    stop: () => server.stop(),
  }
}
