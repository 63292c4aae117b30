import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { HELP, type Publishing, parseCommand, UsageError } from './options.ts'
import { compare } from './report/compare.ts'
import { PUBLISHED, writeDocuments } from './report/documents.ts'
import { writePage } from './report/page.ts'
import { merged, reasonsNotToPublish } from './report/publish.ts'
import { describeMachine, type Results, type SectionResult, thisMachine } from './report/results.ts'
import { sectionText } from './report/table.ts'
import { expectedMinutes, runSections } from './run.ts'
import { sections } from './sections/index.ts'
import { dearer } from './sections/release.ts'
import { allTargets, targetsTable } from './targets.ts'
import { checkOutRelease } from './world/release.ts'
import { type Cleanup, canPin } from './world/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')

async function main(cleanup: Cleanup): Promise<void> {
  const command = parseCommand(process.argv.slice(2))
  if (command.type === 'help') return print(HELP)
  if (command.type === 'compare') {
    const [before, after] = command.files
    return print(compare(read(before), read(after)))
  }
  if (command.type === 'report') {
    const runs = command.from.map(read) as [Results, ...Results[]]
    merged(runs).sections.forEach(printSection)
    return report(runs, command)
  }

  if (process.platform !== 'linux') throw new UsageError('The bench reads /proc, so it runs on Linux only.')
  const { json, isGate } = command
  const options = isGate ? { ...command.options, against: checkOutRelease(cleanup) } : command.options
  announce(expectedMinutes(command.sections, options))
  const measure = () => runSections(command.sections, { ...options, cleanup, onSection: printSection })
  const results = await measure()
  writeFileSync(json, `${JSON.stringify(results, null, 2)}\n`)
  report([results], command)
  if (!isGate || dearer([rowsOf(results)]).length === 0) return
  print('Something seems dearer than in the last release: measures again.\n')
  const again = await measure()
  const failed = failures(again)
  if (failed.length > 0) return fail(`Errors in the second run: ${failed.join('; ')}.`)
  const slower = dearer([rowsOf(results), rowsOf(again)])
  if (slower.length > 0) fail(`Dearer than in the last release, twice: ${slower.join('; ')}.`)
}

const rowsOf = ({ sections }: Results) => sections.flatMap(({ rows }) => rows)

/** Prints the targets, writes the documents if asked to, and sets the exit status. */
function report(runs: [Results, ...Results[]], { writeDocs, accepts }: Publishing): void {
  const results = merged(runs)
  print(targetsTable(allTargets(results)))
  if (results.quick) print('\nA quick run: its figures mean nothing.')
  const failed = failures(results)
  if (failed.length > 0) {
    fail(`Errors in: ${failed.join('; ')}.`)
    return
  }
  if (!writeDocs) return
  const published = existsSync(join(ROOT, PUBLISHED))
    ? JSON.parse(readFileSync(join(ROOT, PUBLISHED), 'utf8'))
    : undefined
  const names = sections.map(({ name }) => name)
  const reasons = reasonsNotToPublish(runs, { published, sections: names, accepts })
  if (reasons.length > 0) fail(['Nothing was written.', ...reasons].join('\n'))
  else {
    writePage(runs, join(ROOT, 'docs/performance'))
    writeDocuments(ROOT, runs)
  }
}

function fail(text: string): void {
  console.error(text)
  process.exitCode = 1
}

function failures({ sections }: Results): string[] {
  const failed = sections.filter(({ failed }) => failed).map(({ name }) => name)
  const rows = sections.flatMap(({ name, rows }) => rows.map((row) => ({ ...row, name: `${name}: ${row.name}` })))
  return [...failed, ...rows.filter(({ errors }) => errors > 0).map(({ name }) => name)]
}

function announce(minutes: number): void {
  const cores = canPin ? '' : 'Without a second core, or without taskset, servers and load program share a core.\n'
  process.stderr.write(
    `${describeMachine(thisMachine())}\nLoad average: ${loadavg()[0]?.toFixed(2)}\n${cores}This takes about ${Math.ceil(minutes)} minutes.\n`,
  )
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
