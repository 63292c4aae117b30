import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseCommandLine, UsageError, whole } from './command-line.ts'
import type { Trial, WorldOptions } from './trial.ts'
import { trials } from './trials/index.ts'

export const HELP = `Usage: npm run trial -- [options] [trials]

Breaks the machine under the server, attacks it, and says what was lost. Without names all trials run, one after another:

${trials.map(({ name, title }) => `  ${name.padEnd(8)} ${title}`).join('\n')}

  --quick             small sizes: a few minutes in all; every loss still counts
  --seed NUMBER       repeats the choices of a run (default: a new one, printed)
  --kills NUMBER      how often crash kills (default: 100; quick: 6)
  --cuts NUMBER       how many power cuts are tried (default: 600; quick: 30)
  --requests NUMBER   how many requests fuzz sends (default: 200000; quick: 10000)
  --minutes NUMBER    how long soak runs (default: 10; quick: 1)
  --tls               the servers and their clients speak TLS: crash, fuzz, flood, timing
  --postgres          soak with PostgreSQL instead of SQLite
  --into FOLDER       where soak writes its samples and their curve (default: the temporary folder)
  --program FOLDER    try the server in FOLDER, an installed checkout of this repository (default: this one)
  --keep              keep the temporary folder: databases, logs of the servers, logs of the disk
  --help              print this help

The exit status is 1 if anything was lost or a trial failed, and 2 for a wrong option.`

export interface Options extends WorldOptions {
  trials: Trial[]
  keep: boolean
  tls: boolean
}

/** Parses the command line; undefined if it asks for help. Throws UsageError if it makes no sense. */
export function parseOptions(args: string[]): Options | undefined {
  const { values, positionals } = parse(args)
  if (values.help) return undefined
  const { quick, keep } = values
  return {
    trials: choose(positionals),
    quick,
    keep,
    tls: values.tls,
    seed: whole('seed', values.seed, Date.now() % 1_000_000),
    sizes: {
      kills: whole('kills', values.kills, quick ? 6 : 100),
      cuts: whole('cuts', values.cuts, quick ? 30 : 600),
      requests: whole('requests', values.requests, quick ? 10_000 : 200_000),
      minutes: whole('minutes', values.minutes, quick ? 1 : 10),
    },
    postgres: values.postgres,
    into: values.into,
    program: checkout(values.program),
  }
}

function parse(args: string[]) {
  return parseCommandLine({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      seed: { type: 'string' },
      kills: { type: 'string' },
      cuts: { type: 'string' },
      requests: { type: 'string' },
      minutes: { type: 'string' },
      postgres: { type: 'boolean', default: false },
      into: { type: 'string' },
      program: { type: 'string', default: join(import.meta.dirname, '../..') },
      keep: { type: 'boolean', default: false },
      tls: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
}

function choose(names: string[]): Trial[] {
  if (names.length === 0) return trials
  return names.map((name) => {
    const trial = trials.find((one) => one.name === name)
    if (!trial) throw new UsageError(`There is no trial ${name}.`)
    return trial
  })
}

function checkout(folder: string): string {
  for (const needed of ['src/main.ts', 'node_modules']) {
    if (existsSync(join(folder, needed))) continue
    throw new UsageError(`--program must be an installed checkout of this repository: ${folder} has no ${needed}.`)
  }
  return resolve(folder)
}
