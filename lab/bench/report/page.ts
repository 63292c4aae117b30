import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allTargets, targetsTable } from '../targets.ts'
import { drawPlot } from './plot.ts'
import { describeMachine, type Results, type SectionResult } from './results.ts'
import { sectionText } from './table.ts'

/** Writes the results as a page, `results.md`, with its plots beside it. */
export function writePage(results: Results, folder: string): void {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'results.md'), page(results))
  for (const section of results.sections) {
    for (const plot of section.plots) writeFileSync(join(folder, plot.file), drawPlot(plot, section.rows, results))
  }
}

function page(results: Results): string {
  const { machine, startedAt, times, sections } = results
  return `# Results

<!-- Written by \`npm run bench -- --write-docs\`. Do not edit. -->

Measured on ${startedAt.slice(0, 10)}: ${describeMachine(machine)}. ${times.rounds} rounds of ${times.seconds} s each, after a
warm-up of ${times.warmUp} s. How it is measured, and what the figures mean: [Performance](../performance.md).

## Targets

${code(targetsTable(allTargets(results)))}
${sections.map(sectionPage).join('')}`
}

function sectionPage(section: SectionResult): string {
  const images = section.plots.map(({ file, title }) => `![${title}](${file})\n\n`).join('')
  return `\n## ${section.title}\n\n${images}${code(sectionText(section))}\n`
}

function code(text: string): string {
  return `\`\`\`text\n${text}\n\`\`\``
}
