import { join } from 'node:path'
import { READY_PATH } from '../../src/http/metadata.ts'
import type { Load } from './load/client.ts'
import type { Group } from './load/protocol.ts'
import { type Contender, measure, type Rows, type Times } from './measure.ts'
import { type Checkout, type Data, logIn, makeAdminKey, makeData, openCheckout } from './world/checkout.ts'
import { type Postgres, startPostgres } from './world/postgres.ts'
import { type Cleanup, type Server, type ServerOptions, startServer } from './world/server-process.ts'

/** How many applications a database has unless a section says otherwise. */
const APPLICATIONS = 10

const PRODUCT = openCheckout(join(import.meta.dirname, '../..'), 'product')

/** A server of this repository with its data. */
export interface Running {
  data: Data
  server: Server
}

/** What a section works with. */
export type Bench = ReturnType<typeof openBench>

/** Opens a bench for one section, in a folder of its own. Its servers run until `close`. */
export function openBench(options: WorldOptions & { load: Load; times: Times; quick: boolean }) {
  const { folder, load, times, quick, step } = options
  return {
    step,
    ...createWorld(options),
    ...createGroups(load),

    /** A number, or a small one in a quick run. */
    size: (full: number, small: number) => (quick ? small : full),

    /** How long each contender is under load, in seconds. */
    loadSeconds: times.warmUp + times.rounds * times.seconds,

    /** A file in the section's folder. */
    file: (name: string) => join(folder, name),

    adminKey: (data: Data) => makeAdminKey(data, folder),
    consoleSession: (data: Data, port: number) => logIn(data, folder, port),

    measure<Key extends string, Part extends string>(
      contenders: Record<Key, Contender<Key, Part>>,
      { warmUp = times.warmUp, isInWholeSeconds = false }: { warmUp?: number; isInWholeSeconds?: boolean } = {},
    ): Promise<Rows<Key, Part>> {
      const names = Object.values<Contender>(contenders).map(({ name }) => name)
      step(`measures ${names.join(', ')}`)
      const seconds = isInWholeSeconds ? Math.ceil(times.seconds) : times.seconds
      return measure(load, { ...times, warmUp, seconds }, contenders)
    },
  }
}

interface WorldOptions {
  folder: string
  cleanup: Cleanup
  against: Checkout | undefined
  step: (text: string) => void
}

/** The servers of a section, and their data. */
function createWorld({ folder, cleanup, against, step }: WorldOptions) {
  const servers: Pick<Server, 'stop'>[] = []

  async function start({ path = READY_PATH, env = {}, pin = true, ...rest }: StartOptions): Promise<Server> {
    const server = await startServer(cleanup, { ...rest, env, folder, path, pin })
    servers.push(server)
    return server
  }

  /** Starts one of `servers/`. */
  const startProgram = (kind: 'constant' | 'peer', program: string, options: Settings = {}) =>
    start({ kind, command: [process.execPath, join(import.meta.dirname, 'servers', `${program}.ts`)], ...options })

  /** Data in a SQLite file. */
  function data(name: string, applications = APPLICATIONS, checkout = PRODUCT): Data & { file: string } {
    step(`registers ${applications} applications (${name})`)
    const file = join(folder, `${name}.db`)
    return { ...makeData(checkout, { folder, url: `sqlite:${file}`, applications }), file }
  }

  /** Starts this server, or the version of it that made the data. */
  function serve({ checkout, env }: Data, options: Settings = {}): Promise<Server> {
    const { kind, main, nodeOptions, nodeEnv } = checkout
    const command: ServerOptions['command'] = [process.execPath, ...nodeOptions, main, 'serve']
    return start({ kind, command, ...options, env: { ...nodeEnv, ...env, ...options.env } })
  }

  async function running(data: Data, options: Settings): Promise<Running> {
    return { data, server: await serve(data, options) }
  }

  return {
    data,
    serve,

    /** Data in a database of its own on a PostgreSQL server. */
    async postgresData(postgres: Postgres): Promise<Data> {
      step(`registers ${APPLICATIONS} applications in a PostgreSQL database`)
      return makeData(PRODUCT, { folder, url: await postgres.createDatabase(), applications: APPLICATIONS })
    },

    /** Starts this server with new data and, with --against, the other version with its own. */
    async versions(name: string, options: Settings = {}): Promise<{ ours: Running; other: Running | undefined }> {
      const ours = await running(data(name), options)
      return { ours, other: against && (await running(data(`${name}-other`, APPLICATIONS, against), options)) }
    },

    /** Starts a PostgreSQL server on the core of the load program. */
    async postgres(): Promise<Postgres> {
      step('starts PostgreSQL')
      const postgres = await startPostgres()
      servers.push(postgres)
      return postgres
    },

    constant: (program = 'constant', options?: Settings) => startProgram('constant', program, options),
    /** The simplest durable issuer, for the `peerClient`. */
    simplest: (on: 'fastify' | 'bare') =>
      startProgram('peer', `simplest/${on}`, { env: { STORE: join(folder, `simplest-${on}.db`) } }),
    peer: (program: string, options?: Settings) => startProgram('peer', program, options),
    /** A peer that is not a program of `servers/`. */
    foreign: (command: ServerOptions['command'], options?: Settings) => start({ kind: 'peer', command, ...options }),

    async close(): Promise<void> {
      for (const server of servers.reverse()) await server.stop()
    },
  }
}

/** Groups of connections, which send the requests of a list one after another. */
function createGroups(load: Load) {
  const list = (requests: string[], expect = 200, weight = 1) => ({ file: load.list(requests), weight, expect })
  /** `expect`: the status of the responses. */
  const group = (connections: number, requests: string[], expect?: number): Group => ({
    connections,
    lists: [list(requests, expect)],
  })

  return {
    group,

    /** The only group of a contender. */
    load: (connections: number, requests: string[], expect?: number) => ({
      groups: { '': group(connections, requests, expect) },
    }),

    /** The only group of a contender: each connection sends ten of the first requests to one of the second. */
    mixedLoad: (connections: number, many: string[], few: string[]) => ({
      groups: { '': { connections, lists: [list(many, 200, 10), list(few)] } },
    }),
  }
}

interface Settings {
  env?: Record<string, string>
  path?: string
  pin?: boolean
}

type StartOptions = Settings & Pick<ServerOptions, 'kind' | 'command'>
