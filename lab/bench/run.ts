import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { openBench } from './bench.ts'
import { startLoad } from './load/client.ts'
import type { Times } from './measure.ts'
import { type Results, type SectionResult, thisMachine } from './report/results.ts'
import type { Section } from './section.ts'
import { evaluate, memoryTarget } from './targets.ts'
import type { Checkout } from './world/checkout.ts'
import type { Cleanup } from './world/server-process.ts'

export interface RunOptions {
  times: Times
  quick: boolean
  against: Checkout | undefined
}

/** Runs sections one after another, each in a folder of its own. `onSection` gets each result at once. */
export async function runSections(
  sections: Section[],
  { cleanup, onSection, ...options }: RunOptions & { cleanup: Cleanup; onSection: (result: SectionResult) => void },
): Promise<Results> {
  const startedAt = new Date()
  const [loadBefore] = loadavg() as [number]
  const root = temporaryFolder(cleanup)
  const load = startLoad({ folder: root, cleanup })
  const results: SectionResult[] = []
  for (const { name, run } of sections) {
    const folder = join(root, name)
    mkdirSync(folder)
    const bench = openBench({ ...options, folder, cleanup, load, step: (text) => progress(startedAt, name, text) })
    const result = await run(bench)
    await bench.close()
    rmSync(folder, { recursive: true })
    results.push(result)
    onSection(result)
  }
  load.stop()
  const rows = results.flatMap((result) => result.rows)
  const targets = evaluate([memoryTarget], { rows, figures: undefined })
  const { times, quick } = options
  return {
    machine: thisMachine(),
    startedAt: startedAt.toISOString(),
    loadBefore,
    times,
    quick,
    sections: results,
    targets,
  }
}

/** The approximate duration of sections, in minutes. */
export function expectedMinutes(sections: Section[], { times, quick, against }: RunOptions): number {
  const each = times.warmUp + times.rounds * times.seconds
  const seconds = sections.map(({ contenders, others = 0, preparation }) => {
    return (contenders + (against ? others : 0)) * each + (quick ? 5 : preparation)
  })
  return seconds.reduce((sum, one) => sum + one, 0) / 60
}

function progress(startedAt: Date, section: string, text: string): void {
  const seconds = Math.round((Date.now() - startedAt.getTime()) / 1000)
  process.stderr.write(`${String(seconds).padStart(4)} s  ${section}: ${text}\n`)
}

const TMPFS = 0x01021994
const RAMFS = 0x858458f6

/** A temporary folder on a disk: in memory, an fsync would cost nothing. */
function temporaryFolder(cleanup: Cleanup): string {
  const inMemory = [TMPFS, RAMFS].includes(statfsSync(tmpdir()).type)
  const folder = mkdtempSync(inMemory ? join(import.meta.dirname, '.tmp-') : join(tmpdir(), 'token-server-bench-'))
  cleanup.add(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
