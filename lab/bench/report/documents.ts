import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { allTargets } from '../targets.ts'
import { figureOfRuns } from './figures.ts'
import { merged, type Published } from './publish.ts'
import type { Results } from './results.ts'

/** The documents that have figures of the published run. */
export const DOCUMENTS = [
  'README.md',
  'deploy/kubernetes/README.md',
  'docs/performance.md',
  'docs/performance/experiments.md',
  'docs/scale.md',
]

/** Where the figures are that documents have. */
export const PUBLISHED = 'docs/performance/results.json'

/** A number and the name of its figure (figures.ts): `0.77<!-- SECTION: ROW / BASE: CPU -->`. Thousands have commas. */
const MARK = /([\d.,]+)(<!-- ([^>]+: [^>]+) -->)/g
const MISSED = /^(<!-- missed targets -->).*$/m

export function namesIn(text: string): string[] {
  return [...text.matchAll(MARK)].map(([, , , name]) => name as string)
}

/** The text with its figures as they are published, each with as many decimals as before. */
export function filled(text: string, { figures, missed }: Pick<Published, 'figures' | 'missed'>): string {
  const targets = missed.length === 0 ? 'All targets are met.' : `Missed targets: ${missed.join('; ')}.`
  return text
    .replace(MISSED, (_, mark) => mark + targets)
    .replace(MARK, (_, number: string, mark, name) => {
      const figure = figures[name]
      if (figure === undefined) throw new Error(`No figure is called ${name}.`)
      const decimals = number.split('.')[1]?.length ?? 0
      return figure.toLocaleString('en', { minimumFractionDigits: decimals, maximumFractionDigits: decimals }) + mark
    })
}

/** What documents say of these runs. Throws if a name in them is of no figure. */
export function publishedOf(runs: [Results, ...Results[]], names: Iterable<string>): Published {
  const { machine, startedAt } = runs[0]
  const figures: Record<string, number> = {}
  for (const name of new Set(names)) {
    const figure = figureOfRuns(runs, name)
    if (figure === undefined) throw new Error(`No run has the figure ${name}.`)
    figures[name] = Number(figure.toPrecision(5))
  }
  const missed = allTargets(merged(runs)).filter(({ isMet }) => !isMet)
  const shown = missed.map(({ asked, value }) => `${asked} (${value === null ? 'not measured' : value.toPrecision(3)})`)
  return { machine, startedAt, figures, missed: shown }
}

/** Writes the figures of runs into the documents, and into `PUBLISHED`. */
export function writeDocuments(root: string, runs: [Results, ...Results[]]): void {
  const texts = DOCUMENTS.map((file) => [join(root, file), readFileSync(join(root, file), 'utf8')] as const)
  const published = publishedOf(
    runs,
    texts.flatMap(([, text]) => namesIn(text)),
  )
  for (const [file, text] of texts) writeFileSync(file, filled(text, published))
  writeFileSync(join(root, PUBLISHED), `${JSON.stringify(published, null, 2)}\n`)
}
