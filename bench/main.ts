import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Section } from './bench.ts'
import { compare } from './compare.ts'
import { machineWords, thisMachine } from './machine.ts'
import { plots } from './plot.ts'
import { type Cleanup, canPin } from './process.ts'
import { Refused } from './refused.ts'
import type { Results, SectionResult } from './results.ts'
import { expectedMinutes, runSections } from './run.ts'
import { sections } from './sections/index.ts'
import { sectionText } from './table.ts'
import { targetsText } from './targets.ts'

const HELP = `Usage: npm run bench -- [options]

Measures this server beside constants and other token servers, in turns, and prints tables.

  --only NAMES        sections, with commas between: ${sections.map(({ name }) => name).join(', ')}
  --rounds NUMBER     rounds of each measurement (default: 5)
  --seconds NUMBER    seconds of a round (default: 4)
  --quick             short rounds and small tables: shows that everything works; the figures mean nothing
  --json FILE         where the results go (default: bench/results.json)
  --plots FOLDER      draws SVGs into this folder
  --compare OLD NEW   prints the ratios of two results side by side, where both are of the same machine
  --help              prints this`

async function main(cleanup: Cleanup): Promise<void> {
  const { values, positionals } = parse()
  if (values.help) return print(HELP)
  if (values.compare !== undefined) return print(compare(values.compare, positionals[0] as string))
  if (process.platform !== 'linux') throw new Refused('The bench reads /proc: it runs on Linux only.')

  const { quick } = values
  const times = {
    rounds: positive('rounds', values.rounds, quick ? 2 : 5),
    seconds: positive('seconds', values.seconds, quick ? 0.3 : 4),
    warmUp: quick ? 0.3 : 2,
  }
  const chosen = choose(values.only)
  announce(expectedMinutes(chosen, times, quick))
  const onSection = (result: SectionResult) => print(`${sectionText(result)}`)
  const results = await runSections(chosen, { cleanup, times, quick, onSection })
  print(targetsText(results))
  if (quick) print('\nA quick run: its figures mean nothing.')
  writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`)
  if (values.plots !== undefined) draw(results, values.plots)
  assertNoErrors(results)
}

function parse() {
  const parsed = parseArgs({
    allowPositionals: true,
    options: {
      only: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'string', default: join(import.meta.dirname, 'results.json') },
      plots: { type: 'string' },
      compare: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (parsed.positionals.length !== (parsed.values.compare === undefined ? 0 : 1)) {
    throw new Refused('Only --compare takes files, two of them: --compare OLD.json NEW.json.')
  }
  return parsed
}

function positive(name: string, text: string | undefined, byDefault: number): number {
  const number = text === undefined ? byDefault : Number(text)
  if (number > 0) return number
  throw new Refused(`--${name} must be a number above 0.`)
}

function choose(names: string | undefined): Section[] {
  if (names === undefined) return sections
  return names.split(',').map((name) => {
    const section = sections.find((one) => one.name === name)
    if (!section) throw new Refused(`There is no section ${name}.`)
    return section
  })
}

function announce(minutes: number): void {
  const cores = canPin ? '' : 'There is one core only, or no taskset: the servers and the load program share it.\n'
  process.stderr.write(`${machineWords(thisMachine())}\n${cores}This takes about ${Math.ceil(minutes)} minutes.\n`)
}

function draw(results: Results, folder: string): void {
  mkdirSync(folder, { recursive: true })
  for (const [file, svg] of Object.entries(plots(results))) writeFileSync(join(folder, file), svg)
}

function assertNoErrors({ sections }: Results): void {
  const failed = sections.filter(({ failed }) => failed).map(({ name }) => name)
  const rows = sections.flatMap((section) => section.rows).filter(({ errors }) => errors > 0)
  const wrong = [...failed, ...rows.map(({ name }) => name)]
  if (wrong.length > 0) throw new Refused(`Not all went as it should: see ${wrong.join('; ')}.`)
}

function isExpected(error: unknown): error is Error {
  return error instanceof Refused || String((error as { code?: string }).code).startsWith('ERR_PARSE_ARGS')
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}

const cleanup: Cleanup = new Set()
process.on('exit', () => {
  for (const undo of [...cleanup].reverse()) undo()
})
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(1))

try {
  await main(cleanup)
} catch (error) {
  console.error(isExpected(error) ? error.message : error)
  process.exit(1)
}
