import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HELP, parseCommand, UsageError } from './options.ts'
import { compare } from './report/compare.ts'
import { writePage } from './report/page.ts'
import { describeMachine, type Results, type SectionResult, thisMachine } from './report/results.ts'
import { sectionText } from './report/table.ts'
import { expectedMinutes, runSections } from './run.ts'
import { sections } from './sections/index.ts'
import { allTargets, targetsTable } from './targets.ts'
import { type Cleanup, canPin } from './world/server-process.ts'

const DOCS = join(import.meta.dirname, '../../docs/performance')

async function main(cleanup: Cleanup): Promise<void> {
  const command = parseCommand(process.argv.slice(2))
  if (command.type === 'help') return print(HELP)
  if (command.type === 'compare') {
    const [before, after] = command.files
    return print(compare(read(before), read(after)))
  }
  if (command.type === 'report') {
    const results = read(command.from)
    results.sections.forEach(printSection)
    return report(results, command.writeDocs)
  }

  if (process.platform !== 'linux') throw new UsageError('The bench reads /proc, so it runs on Linux only.')
  const { options, json, writeDocs } = command
  if (writeDocs) assertComplete({ ...options, sections: command.sections })
  announce(expectedMinutes(command.sections, options))
  const results = await runSections(command.sections, { ...options, cleanup, onSection: printSection })
  writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`)
  report(results, writeDocs)
}

/** Prints the targets, writes the page if asked to, and sets the exit status. */
function report(results: Results, writeDocs: boolean): void {
  print(targetsTable(allTargets(results)))
  if (results.quick) print('\nA quick run: its figures mean nothing.')
  const failed = failures(results)
  if (failed.length > 0) {
    console.error(`Errors in: ${failed.join('; ')}.`)
    process.exitCode = 1
    return
  }
  if (!writeDocs) return
  assertComplete({ ...results, against: results.sections.some(({ rows }) => rows.some(({ toOther }) => toOther)) })
  writePage(results, DOCS)
}

/** The page in docs/ is of a complete run of this version alone. */
function assertComplete(run: { quick: boolean; against?: unknown; sections: { name: string }[] }): void {
  const isComplete = sections.every(({ name }) => run.sections.some((section) => section.name === name))
  if (run.quick || run.against || !isComplete) {
    throw new UsageError('--write-docs needs a complete run: no --quick, --only or --against.')
  }
}

function failures({ sections }: Results): string[] {
  const failed = sections.filter(({ failed }) => failed).map(({ name }) => name)
  const rows = sections.flatMap(({ name, rows }) => rows.map((row) => ({ ...row, name: `${name}: ${row.name}` })))
  return [...failed, ...rows.filter(({ errors }) => errors > 0).map(({ name }) => name)]
}

function announce(minutes: number): void {
  const cores = canPin ? '' : 'Without a second core, or without taskset, servers and load program share a core.\n'
  process.stderr.write(`${describeMachine(thisMachine())}\n${cores}This takes about ${Math.ceil(minutes)} minutes.\n`)
}

function printSection(section: SectionResult): void {
  print(`${section.name}: ${section.title}\n${sectionText(section)}\n`)
}

function read(file: string): Results {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw new UsageError(`${file} is not a result file: ${(error as Error).message}`)
  }
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
  console.error(error instanceof UsageError ? error.message : error)
  process.exit(1)
}
