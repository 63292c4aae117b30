import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Data, MAIN, makeData } from './data.ts'
import type { Load } from './load/client.ts'
import type { Group } from './load/protocol.ts'
import { type Contender, measure, type Row, type Times } from './measure.ts'
import { type Cleanup, type Server, startServer } from './process.ts'

/** What a section found out. */
export interface Findings {
  rows: Row[]
  /** Other figures, by what they are; a target may ask for them. */
  figures?: Record<string, number>
  /** Sentences for whoever reads the table. */
  notes?: string[]
  /** Whether it ended early; its notes say why. */
  failed?: boolean
}

export interface Section {
  name: string
  title: string
  /** How many contenders it measures and how long it prepares, in seconds: for the time that is announced. */
  contenders: number
  preparation: number
  run: (bench: Bench) => Promise<Findings>
}

/** The options for Node.js that the `token-server` script of package.json has. */
const { scripts } = JSON.parse(readFileSync(join(import.meta.dirname, '../package.json'), 'utf8'))
const asOperatorsDo = (scripts['token-server'] as string).split(' ').filter((word) => word.startsWith('--'))

/** What a section works with. */
export type Bench = ReturnType<typeof openBench>

/** The section's own bench. `folder` is its own and empty; what it starts runs until `close`. */
export function openBench(options: {
  folder: string
  cleanup: Cleanup
  load: Load
  times: Times
  quick: boolean
  step: (text: string) => void
}) {
  const { folder, cleanup, load, times, quick, step } = options
  const servers: Server[] = []

  async function start(
    args: string[],
    { env = {}, path = '/health/ready', pin = true }: StartOptions,
  ): Promise<Server> {
    const server = await startServer(cleanup, { args, env, folder, path, pin })
    servers.push(server)
    return server
  }

  return {
    step,

    /** A number of things, or a tenth or less of it where the figures do not matter. */
    size: (full: number, small: number) => (quick ? small : full),

    data(name: string, applications = 10): Data {
      step(`registers ${applications} applications (${name})`)
      return makeData(folder, name, applications)
    },

    /** This server, as it is run. */
    ours: ({ env }: Pick<Data, 'env'>, options: StartOptions = {}) =>
      start([...asOperatorsDo, MAIN, 'serve'], { ...options, env: { ...env, ...options.env } }),

    /** One of `servers/`. */
    other: (name: string, options: StartOptions = {}) =>
      start([join(import.meta.dirname, 'servers', `${name}.ts`)], options),

    /** How long a contender is under load altogether, in seconds. */
    loadSeconds: times.warmUp + times.rounds * times.seconds,

    /** A file in the section's folder. */
    file: (name: string) => join(folder, name),

    /** Connections that send these requests, one after another, and expect this status. */
    group: (connections: number, requests: string[], expect = 200, name = ''): Group => ({
      name,
      connections,
      lists: [{ file: load.list(requests), weight: 1, expect }],
    }),

    /** Connections of which each sends the first kind of request ten times as often as the second. */
    mixed: (connections: number, many: string[], few: string[]): Group => ({
      name: '',
      connections,
      lists: [
        { file: load.list(many), weight: 10, expect: 200 },
        { file: load.list(few), weight: 1, expect: 200 },
      ],
    }),

    measure(contenders: Contender[]): Promise<Row[]> {
      step(`measures ${contenders.map(({ name }) => name).join(', ')}`)
      return measure(load, times, contenders)
    },

    async close(): Promise<void> {
      for (const server of servers) await server.stop()
    },
  }
}

interface StartOptions {
  env?: Record<string, string>
  path?: string
  pin?: boolean
}
