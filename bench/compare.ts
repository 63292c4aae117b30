import { readFileSync } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { machineWords } from './machine.ts'
import { Refused } from './refused.ts'
import { findRow, type Results } from './results.ts'
import { table } from './table.ts'

/** Each ratio of two runs side by side. Throws where they are of different machines. */
export function compare(oldFile: string, newFile: string): string {
  const [before, after] = [read(oldFile), read(newFile)]
  if (!isDeepStrictEqual(before.machine, after.machine)) {
    const machines = [before, after].map(({ machine }) => machineWords(machine)).join(' and ')
    throw new Refused(`The runs are of different machines, which says nothing about the server: ${machines}.`)
  }
  const rows = after.sections.flatMap((section) =>
    section.rows.flatMap(({ name, base, ratio }) => {
      const old = findRow(before, section.name, name)?.ratio
      if (ratio === null || old === null || old === undefined) return []
      const change = `${((ratio / old - 1) * 100).toFixed(0)} %`
      return [[`${section.name}: ${name} to ${base}`, old.toFixed(2), ratio.toFixed(2), change]]
    }),
  )
  return table([['ratio', 'old', 'new', 'change'], ...rows])
}

function read(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8'))
}
