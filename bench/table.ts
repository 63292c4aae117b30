import type { Row } from './measure.ts'
import type { SectionResult } from './results.ts'

const HEADING = [
  '',
  'requests/s',
  'ratio',
  'CPU µs/request',
  'p50 ms',
  'p99 ms',
  'p99.9 ms',
  'max ms',
  'errors',
  'MiB peak',
  'MiB end',
  'CPU server',
  'CPU load',
]

/** A section as text. */
export function sectionText({ name, title, rows, notes = [] }: SectionResult): string {
  const bases = new Set(rows.flatMap(({ base }) => base ?? []))
  const ratios = [...bases].map((base) => {
    const compared = rows.filter((row) => row.base === base).map((row) => row.name)
    return `Ratio: ${compared.join('; ')} to ${base}.`
  })
  const body = rows.length > 0 ? `${table([HEADING, ...rows.map(cells)])}\n` : ''
  return `${name}: ${title}\n${body}${[...ratios, ...notes].map((note) => `  ${note}\n`).join('')}`
}

/** Rows of text in columns: the first from the left, the others from the right. */
export function table(rows: string[][]): string {
  const width = (column: number) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0))
  return rows
    .map((cells) => cells.map((cell, at) => (at === 0 ? cell.padEnd(width(at)) : cell.padStart(width(at)))).join('  '))
    .map((line) => `  ${line.trimEnd()}`)
    .join('\n')
}

function cells(row: Row): string[] {
  return [
    row.name,
    Math.round(row.requestsPerSecond).toLocaleString('en'),
    row.ratio === null ? '' : row.ratio.toFixed(2),
    row.cpuMicroseconds === null ? '' : row.cpuMicroseconds.toFixed(1),
    ...[row.p50, row.p99, row.p999, row.max].map((milliseconds) => milliseconds.toFixed(2)),
    String(row.errors),
    row.memoryPeak.toFixed(0),
    row.memoryEnd.toFixed(0),
    percent(row.serverShare),
    percent(row.loadShare),
  ]
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
