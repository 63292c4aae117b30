import { cpuRatio, type Row, speedRatio, totalCpuRatio } from '../row.ts'
import { allTargets } from '../targets.ts'
import type { Results } from './results.ts'

/** What a row has to say in a sentence, and relative to another row. */
const COLUMNS: Record<string, { of: (row: Row) => number | null; ratio?: typeof cpuRatio }> = {
  speed: { of: ({ requestsPerSecond }) => requestsPerSecond, ratio: speedRatio },
  CPU: { of: ({ cpuMicroseconds }) => cpuMicroseconds, ratio: cpuRatio },
  'database CPU': { of: ({ databaseMicroseconds }) => databaseMicroseconds },
  'total CPU': {
    of: ({ cpuMicroseconds, databaseMicroseconds }) => (cpuMicroseconds ?? 0) + (databaseMicroseconds ?? 0),
    ratio: totalCpuRatio,
  },
  p99: { of: ({ p99 }) => p99 },
}

/**
 * A figure of a run by its name: `SECTION: ROW: COLUMN`, `SECTION: ROW / BASE: COLUMN`, or a target as it is asked. Undefined if
 * the run does not have it.
 */
export function figureOf(run: Results, name: string): number | undefined {
  const target = allTargets(run).find(({ asked }) => asked === name)
  if (target) return target.value ?? undefined
  const [, section, own, base, column = ''] = /^([^:]+): (.+?)(?: \/ (.+))?: ([^:]+)$/.exec(name) ?? []
  const rows = run.sections.find((one) => one.name === section)?.rows ?? []
  const [row, baseRow] = [own, base].map((name) => rows.find((one) => one.name === name))
  const { of, ratio } = COLUMNS[column] ?? {}
  if (!row || !of) return undefined
  if (base === undefined) return of(row) ?? undefined
  return baseRow && ratio?.(row, baseRow)?.median
}

/** A figure of the first of these runs that has it; `least of NAME` and `most of NAME`: of all that have it. */
export function figureOfRuns(runs: readonly Results[], name: string): number | undefined {
  const [, extreme, own = ''] = /^(?:(least|most) of )?(.+)$/.exec(name) ?? []
  const figures = runs.flatMap((run) => figureOf(run, own) ?? [])
  if (extreme === undefined || figures.length === 0) return figures[0]
  return extreme === 'least' ? Math.min(...figures) : Math.max(...figures)
}

/** Whether a figure is a ratio of two rows: only those can be compared with figures of another run. */
export const isRatio = (name: string) => name.includes(' / ') && !/^(least|most) of /.test(name)
