import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allTargets, memoryTarget, targetsTable } from '../targets.ts'
import { drawPlot } from './plot.ts'
import { merged } from './publish.ts'
import { describeMachine, type Results, type SectionResult } from './results.ts'
import { sectionText, table } from './table.ts'

/** Writes the results as a page, `results.md`, with its plots beside it. The tables are of the first run that has the section. */
export function writePage(runs: [Results, ...Results[]], folder: string): void {
  const results = merged(runs)
  writeFileSync(join(folder, 'results.md'), page(results, runs))
  for (const section of results.sections) {
    for (const plot of section.plots) writeFileSync(join(folder, plot.file), drawPlot(plot, section.rows, results))
  }
}

function page(results: Results, runs: readonly Results[]): string {
  const { machine, startedAt, loadBefore, times, sections } = results
  return `# Results

<!-- Written by \`npm run bench -- --write-docs\`. Do not edit. -->

Measured on ${startedAt.slice(0, 10)}: ${describeMachine(machine)}. ${times.rounds} rounds of ${times.seconds} s each, after a
warm-up of ${times.warmUp} s; the load average before it was ${loadBefore.toFixed(2)}. How it is measured, and what the figures mean: [Performance](../performance.md).

## Targets

${code(targetsTable(allTargets(results)))}
${spread(runs)}${sections.map(sectionPage).join('')}`
}

/** What each run measured, for the targets that several have. */
function spread(all: readonly Results[]): string {
  const runs = all.filter(({ sections }) =>
    sections.some(({ name }) => all[0]?.sections.some((one) => one.name === name)),
  )
  const [first = [], ...others] = runs.map(allTargets)
  const lines = first.flatMap(({ asked, value }) => {
    const again = others.flatMap((targets) => targets.find((one) => one.asked === asked) ?? [])
    if (again.length === 0 || asked === memoryTarget.asked) return []
    return [[asked, ...[value, ...again.map((one) => one.value)].map((number) => number?.toPrecision(3) ?? '')]]
  })
  if (lines.length === 0) return ''
  return `\n## The same in other runs\n\nRuns of ${runs.map(({ startedAt }) => startedAt.slice(0, 16)).join(', ')}.\n\n${code(table(lines))}\n`
}

function sectionPage(section: SectionResult): string {
  const images = section.plots.map(({ file, title }) => `![${title}](${file})\n\n`).join('')
  return `\n## ${section.title}\n\n${images}${code(sectionText(section))}\n`
}

function code(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``
}
