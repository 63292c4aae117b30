import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { READY_PATH } from '../../../src/http/metadata.ts'
import { freePort } from '../../../test/support/free-port.ts'
import { parseCommandLine, print, runToEnd, UsageError, whole } from '../../trial/command-line.ts'
import { describeMachine, thisMachine } from '../report/results.ts'
import { table } from '../report/table.ts'
import { median } from '../row.ts'
import { type Cleanup, type Server, startServer } from '../world/server-process.ts'

const HELP = `Usage: node lab/bench/start/main.ts [options] NAME=FILE…

Measures the start and the idle memory of installed versions of this server, in turns, on SQLite. FILE is the executable, or
node_modules/.bin/token-server of an installed package, which runs on the \`node\` of the PATH.

  --rounds NUMBER   rounds (default: 9), after one that does not count
  --idle SECONDS    from the last start of a round until memory is measured (default: 30)
  --help            print this help`

/** How often `--version` runs in a round. */
const TIMES = 10

const COLUMNS = ['start, CPU s', 'with ops and admin', '--version, CPU s', 'idle RSS, MiB', 'with ops and admin']
const DIGITS = [2, 2, 3, 1, 1]

const cleanup: Cleanup = new Set()
const folder = mkdtempSync(join(tmpdir(), 'token-server-start-'))
cleanup.add(() => rmSync(folder, { recursive: true, force: true }))

interface Version {
  name: string
  /** The command. */
  file: string
  /** Of each round, the figures in the order of COLUMNS. */
  rounds: number[][]
}

/** Starts a server with a database of its own, which is kept for the next rounds. Returns its CPU time so far, too. */
async function start({ name, file }: Version, kind: 'public' | 'all') {
  const own = join(folder, `${name}-${kind}`)
  mkdirSync(own, { recursive: true })
  const address = async () => `127.0.0.1:${await freePort()}`
  const others = kind === 'public' ? {} : { OPS_ADDRESS: await address(), ADMIN_ADDRESS: await address() }
  const server = await startServer(cleanup, {
    kind: 'product',
    command: [file, 'serve', '--create'],
    env: { DATABASE_URL: `sqlite:${own}/token-server.db`, ...others },
    folder: own,
    path: READY_PATH,
    pin: false,
  })
  return { server, seconds: server.cpuTime() / 1e6 }
}

/** The CPU time of `--version`, in seconds. */
function versionSeconds({ file }: Version): number {
  const script = `TIMEFORMAT='%U %S'; time for ((i = 0; i < ${TIMES}; i++)); do "$0" --version > ${folder}/version; done`
  const { stderr } = spawnSync('bash', ['-c', script, file], { encoding: 'utf8' })
  const [user, system] = stderr.split(' ').map(Number) as [number, number]
  return (user + system) / TIMES
}

/** Measures every version once. Their servers wait together. */
async function round(versions: Version[], idle: number): Promise<number[][]> {
  const servers: Server[][] = []
  const starts: number[][] = []
  for (const version of versions) {
    const [alone, all] = [await start(version, 'public'), await start(version, 'all')]
    servers.push([alone.server, all.server])
    starts.push([alone.seconds, all.seconds, versionSeconds(version)])
  }
  await sleep(idle * 1000)
  const memory = servers.map((both) => both.map((server) => server.memory().now))
  for (const server of servers.flat()) await server.stop()
  return starts.map((figures, at) => [...figures, ...(memory[at] as number[])])
}

async function main(): Promise<void> {
  const { values, positionals } = parseCommandLine({
    allowPositionals: true,
    options: { rounds: { type: 'string' }, idle: { type: 'string' }, help: { type: 'boolean' } },
  }) as { values: { rounds?: string; idle?: string; help?: boolean }; positionals: string[] }
  if (values.help || positionals.length === 0) return print(HELP)
  const versions = positionals.map((text): Version => {
    const [name, file] = text.split('=', 2)
    if (!name || !file) throw new UsageError(`${text} is not NAME=FILE.`)
    return { name, file: resolve(file), rounds: [] }
  })
  const [rounds, idle] = [whole('rounds', values.rounds, 9), whole('idle', values.idle, 30)]
  print(describeMachine(thisMachine()))
  await round(versions, 0)
  for (let number = 1; number <= rounds; number++) {
    const figures = await round(versions, idle)
    for (const [at, { rounds }] of versions.entries()) rounds.push(figures[at] as number[])
  }
  const cell = (rounds: number[][], column: number) => {
    const all = rounds.map((figures) => figures[column] as number)
    const [middle, least, most] = [median(all), Math.min(...all), Math.max(...all)].map((one) =>
      one.toFixed(DIGITS[column]),
    )
    return `${middle} (${least}–${most})`
  }
  print(
    table([
      ['', ...COLUMNS],
      ...versions.map(({ name, rounds }) => [name, ...COLUMNS.map((_, at) => cell(rounds, at))]),
    ]),
  )
}

await runToEnd(main, cleanup)
