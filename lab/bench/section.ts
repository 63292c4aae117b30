import type { Bench } from './bench.ts'
import type { Plot, SectionResult } from './report/results.ts'
import type { Row } from './row.ts'
import { evaluate, type Target } from './targets.ts'

interface About {
  name: string
  title: string
  /** The number of contenders, and how many more there are with --against: for the announced duration. */
  contenders: number
  others?: number
  /** The seconds before the first round: also for the announced duration. */
  preparation: number
}

/** Measurements that belong together, and the targets for them. */
export interface Section extends About {
  run: (bench: Bench) => Promise<SectionResult>
}

interface Findings<Rows, Figures> {
  /** By keys that the section's targets use; the table shows them in this order. */
  rows: Rows
  /** Other numbers that targets ask for. */
  figures?: Figures
  /** Sentences for the reader of the table. */
  notes?: string[]
}

interface Definition<Rows, Figures> extends About {
  run: (bench: Bench) => Promise<Findings<Rows, Figures>>
  targets?: Target<NoInfer<Rows>, NoInfer<Figures>>[]
  plots?: Plot[]
}

/** What a section throws if this machine lacks what it needs. Its targets are missed, but nothing went wrong. */
export class Skipped extends Error {}

/** Makes a section. If its run fails, the notes say why and all of its targets are missed. */
export function defineSection<Rows extends Record<string, Row>, Figures = undefined>({
  run,
  targets = [],
  plots = [],
  ...about
}: Definition<Rows, Figures>): Section {
  const { name, title } = about
  async function result(bench: Bench): Promise<SectionResult> {
    try {
      const { rows, figures, notes = [] } = await run(bench)
      const evaluated = named(evaluate(targets, { rows, figures: figures as Figures }))
      return { name, title, rows: Object.values(rows), notes, plots, targets: evaluated, failed: false }
    } catch (error) {
      const failed = !(error instanceof Skipped)
      const notes = [`${failed ? 'Failed' : 'Skipped'}: ${(error as Error).message}`]
      return { name, title, rows: [], notes, plots: [], targets: named(evaluate(targets, undefined)), failed }
    }
  }

  /** Targets with the name of the section. */
  function named(results: SectionResult['targets']): SectionResult['targets'] {
    return results.map((result) => ({ ...result, asked: `${name}: ${result.asked}` }))
  }

  return { ...about, run: result }
}
