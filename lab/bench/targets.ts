import type { Results, TargetResult } from './report/results.ts'
import { table } from './report/table.ts'
import type { Row } from './row.ts'

/** What is asked of the rows and figures that a section measures. */
export interface Target<Rows, Figures> {
  asked: string
  value: (rows: Rows, figures: Figures) => number | null
  isMet: (value: number) => boolean
}

export const atLeast = (limit: number) => (value: number) => value >= limit
export const atMost = (limit: number) => (value: number) => value <= limit
export const moreThan = (limit: number) => (value: number) => value > limit

/** Compares a section's targets with what it measured: nothing, if it failed. A target without a value is missed. */
export function evaluate<Rows, Figures>(
  targets: Target<Rows, Figures>[],
  measured: { rows: Rows; figures: Figures } | undefined,
): TargetResult[] {
  return targets.map(({ asked, value, isMet }) => {
    const number = measured ? finite(() => value(measured.rows, measured.figures)) : null
    return { asked, value: number, isMet: number !== null && isMet(number) }
  })
}

/** Null for anything but a number, and for an error: a target that names a missing row must not cost the section. */
function finite(value: () => number | null): number | null {
  try {
    const number = value()
    return Number.isFinite(number) ? number : null
  } catch {
    return null
  }
}

/** The target over all sections: the memory of this server wherever it is one process. */
export const memoryTarget: Target<Row[], undefined> = {
  asked: 'memory: at most 200 MiB with one process, in all sections',
  value: (rows) => {
    const own = rows.filter(({ kind, processes }) => kind === 'product' && processes === 1)
    return own.length === 0 ? null : Math.max(...own.map(({ memoryPeak }) => memoryPeak))
  },
  isMet: atMost(200),
}

/** Targets as a table: what is asked, what was measured, whether it is met. */
export function targetsTable(results: TargetResult[]): string {
  const rows = results.map(({ asked, value, isMet }) => [
    asked,
    value === null ? 'not measured' : value.toPrecision(3),
    isMet ? 'met' : 'MISSED',
  ])
  return table([['target', 'measured', ''], ...rows])
}

/** The targets of all sections that ran, and the one over all of them. */
export function allTargets({ sections, targets }: Pick<Results, 'sections' | 'targets'>): TargetResult[] {
  return [...sections.flatMap((section) => section.targets), ...targets]
}
