import type { Results, TargetResult } from './report/results.ts'
import { table } from './report/table.ts'
import type { Ratio, Row } from './row.ts'

/** What is asked of the rows and figures that a section measures. */
export interface Target<Rows, Figures> {
  asked: string
  value: (rows: Rows, figures: Figures) => number | Ratio | null
  isMet: (value: number) => boolean
}

export const atLeast = (limit: number) => (value: number) => value >= limit
export const atMost = (limit: number) => (value: number) => value <= limit

/** Compares a section's targets with what it measured: nothing, if it failed. A target without a value is missed. */
export function evaluate<Rows, Figures>(
  targets: Target<Rows, Figures>[],
  measured: { rows: Rows; figures: Figures } | undefined,
): TargetResult[] {
  return targets.map(({ asked, value, isMet }) => {
    const found = measured ? attempt(() => value(measured.rows, measured.figures)) : null
    const range = found !== null && typeof found === 'object' ? ([found.least, found.most] as const) : null
    const number = typeof found === 'object' ? (found?.median ?? null) : found
    return { asked, value: number, range, isMet: number !== null && isMet(number) }
  })
}

/** Null for no finite number, and for an error: a target that names a missing row must not cost the section. */
function attempt(value: () => number | Ratio | null): number | Ratio | null {
  try {
    const found = value()
    return Number.isFinite(typeof found === 'object' ? found?.median : found) ? found : null
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
  const rows = results.map(({ asked, value, range, isMet }) => [
    asked,
    value === null ? 'not measured' : value.toPrecision(3),
    range ? range.map((number) => number.toPrecision(3)).join('–') : '',
    isMet ? 'met' : 'MISSED',
  ])
  return table([['target', 'measured', 'rounds', ''], ...rows])
}

/** The targets of all sections that ran, and the one over all of them. */
export function allTargets({ sections, targets }: Pick<Results, 'sections' | 'targets'>): TargetResult[] {
  return [...sections.flatMap((section) => section.targets), ...targets]
}
