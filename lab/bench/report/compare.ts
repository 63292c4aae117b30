import { isDeepStrictEqual } from 'node:util'
import { UsageError } from '../options.ts'
import { describeMachine, type Results } from './results.ts'
import { table } from './table.ts'

/** The ratios of two runs side by side. Throws if they are of different machines. */
export function compare(before: Results, after: Results): string {
  if (!isDeepStrictEqual(before.machine, after.machine)) {
    const machines = [before, after].map(({ machine }) => describeMachine(machine)).join(' and ')
    throw new UsageError(`The runs are of different machines, so they cannot be compared: ${machines}.`)
  }
  const [old, now] = [ratiosOf(before), ratiosOf(after)]
  const rows = [...now].flatMap(([name, ratio]) => {
    const was = old.get(name)
    if (was === undefined) return []
    return [[name, was.toFixed(2), ratio.toFixed(2), `${((ratio / was - 1) * 100).toFixed(0)} %`]]
  })
  return [
    table([['ratio', 'old', 'new', 'change'], ...rows]),
    ...[...old.keys()].filter((name) => !now.has(name)).map((name) => `Only in the old run: ${name}`),
    ...[...now.keys()].filter((name) => !old.has(name)).map((name) => `Only in the new run: ${name}`),
  ].join('\n')
}

/** The rows that have a ratio, by the names of their section, the row and its base. */
function ratiosOf({ sections }: Results): Map<string, number> {
  return new Map(
    sections.flatMap((section) =>
      section.rows.flatMap(({ name, base, ratio }) =>
        ratio === null ? [] : [[`${section.name}: ${name} to ${base}`, ratio] as const],
      ),
    ),
  )
}
