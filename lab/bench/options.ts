import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { RunOptions } from './run.ts'
import type { Section } from './section.ts'
import { extraSections, sections } from './sections/index.ts'
import { openCheckout } from './world/checkout.ts'

export const HELP = `Usage: npm run bench -- [options]

Measures this server beside constant answers and other token servers, in turns, and prints tables and targets.

  --only NAMES        run these sections only: ${[...sections, ...extraSections].map(({ name }) => name).join(',')}
                      (without --only: all but ${extraSections.map(({ name }) => name).join(',')})
  --rounds NUMBER     rounds per measurement (default: 9)
  --seconds NUMBER    seconds per round (default: 1.5)
  --quick             short rounds and little data: shows that everything works; the figures mean nothing
  --against FOLDER    also measure the version of this server in FOLDER, an installed checkout, in the same rounds
                      (sections ${[...sections, ...extraSections]
                        .filter(({ others }) => others)
                        .map(({ name }) => name)
                        .join(', ')})
  --against release   measure the section release against the last release (lab/bench/release.txt), 15 rounds; the exit status
                      is 1 if a token, a wrong secret or a check has become dearer in two runs
  --json FILE         write the results to FILE (default: lab/bench/results.json)
  --from FILES        measure nothing: take the results in FILES, separated by commas: a complete run first, then others of
                      the same machine, which show how far runs differ or add a section
  --write-docs        write docs/performance/results.md, its plots, and the figures in other documents; refuses a run that
                      is incomplete, or was not on a quiet machine
  --accept            write them even if ratios differ from the published ones by more than 15 %
  --compare OLD NEW   print the ratios of two result files side by side; both must be of the same machine
  --help              print this help`

/** A wrong option, or files that do not fit: one sentence for the user. */
export class UsageError extends Error {}

/** What the command line asks for. */
export type Command =
  | { type: 'help' }
  | { type: 'compare'; files: [string, string] }
  | ({ type: 'report'; from: string[] } & Publishing)
  | ({ type: 'run'; sections: Section[]; options: RunOptions; isGate: boolean; json: string } & Publishing)

/** Whether documents are written, and differences from the published figures accepted. */
export interface Publishing {
  writeDocs: boolean
  accepts: boolean
}

/** Parses the command line. Throws a UsageError if it makes no sense. */
export function parseCommand(args: string[]): Command {
  const { values, positionals } = parse(args)
  const publishing = { writeDocs: values['write-docs'], accepts: values.accept }
  if (positionals.length !== (values.compare === undefined ? 0 : 1)) {
    throw new UsageError('Only --compare takes files, and it takes two: --compare OLD.json NEW.json.')
  }
  if (values.help) return { type: 'help' }
  if (values.compare !== undefined) return { type: 'compare', files: [values.compare, positionals[0] as string] }
  if (values.from !== undefined) return { type: 'report', from: values.from.split(','), ...publishing }

  const { quick, against } = values
  const isGate = against === 'release'
  const times = {
    rounds: positive('rounds', values.rounds, quick ? 2 : isGate ? 15 : 9),
    seconds: positive('seconds', values.seconds, quick ? 0.3 : 1.5),
    warmUp: quick ? 0.3 : 2,
  }
  const other = against === undefined || isGate ? undefined : otherVersion(against)
  const options = { times, quick, against: other }
  return {
    type: 'run',
    sections: choose(isGate ? 'release' : values.only),
    options,
    isGate,
    json: values.json,
    ...publishing,
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        only: { type: 'string' },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        quick: { type: 'boolean', default: false },
        against: { type: 'string' },
        json: { type: 'string', default: join(import.meta.dirname, 'results.json') },
        from: { type: 'string' },
        accept: { type: 'boolean', default: false },
        'write-docs': { type: 'boolean', default: false },
        compare: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function positive(name: string, text: string | undefined, defaultValue: number): number {
  const number = text === undefined ? defaultValue : Number(text)
  if (number > 0) return number
  throw new UsageError(`--${name} must be a number above 0.`)
}

function choose(names: string | undefined): Section[] {
  if (names === undefined) return sections
  return names.split(',').map((name) => {
    const section = [...sections, ...extraSections].find((one) => one.name === name)
    if (!section) throw new UsageError(`There is no section ${name}.`)
    return section
  })
}

function otherVersion(folder: string) {
  for (const needed of ['src/main.ts', 'node_modules']) {
    if (!existsSync(join(folder, needed))) {
      throw new UsageError(`--against must be an installed checkout of this repository: ${folder} has no ${needed}.`)
    }
  }
  return openCheckout(resolve(folder), 'other version')
}
