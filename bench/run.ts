import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Findings, openBench, type Section } from './bench.ts'
import { temporaryFolder } from './folder.ts'
import { startLoad } from './load/client.ts'
import { thisMachine } from './machine.ts'
import type { Times } from './measure.ts'
import type { Cleanup } from './process.ts'
import type { Results, SectionResult } from './results.ts'

/** Runs sections, one after another, each with a folder of its own. `onSection` gets each as it ends. */
export async function runSections(
  sections: Section[],
  options: { cleanup: Cleanup; times: Times; quick: boolean; onSection: (result: SectionResult) => void },
): Promise<Results> {
  const { cleanup, times, quick, onSection } = options
  const startedAt = new Date()
  const root = temporaryFolder(cleanup)
  const load = startLoad({ folder: root, cleanup })
  const results: SectionResult[] = []
  for (const { name, title, run } of sections) {
    const folder = join(root, name)
    mkdirSync(folder)
    const bench = openBench({ folder, cleanup, load, times, quick, step: (text) => progress(startedAt, name, text) })
    const result = { name, title, ...(await run(bench).catch(failure)) }
    await bench.close()
    rmSync(folder, { recursive: true })
    results.push(result)
    onSection(result)
  }
  load.stop()
  return { machine: thisMachine(), startedAt: startedAt.toISOString(), times, quick, sections: results }
}

/** A section that failed; the others go on. */
function failure(error: Error): Findings {
  return { rows: [], notes: [`Failed: ${error.message}`], failed: true }
}

/** How long sections take, in minutes, or so. */
export function expectedMinutes(sections: Section[], { rounds, seconds, warmUp }: Times, quick: boolean): number {
  const each = warmUp + rounds * seconds
  const total = sections.map(({ contenders, preparation }) => contenders * each + (quick ? 5 : preparation))
  return total.reduce((sum, one) => sum + one, 0) / 60
}

function progress(startedAt: Date, section: string, text: string): void {
  const seconds = Math.round((Date.now() - startedAt.getTime()) / 1000)
  process.stderr.write(`${String(seconds).padStart(4)} s  ${section}: ${text}\n`)
}
