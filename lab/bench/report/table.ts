import type { Ratio, Row } from '../row.ts'
import type { SectionResult } from './results.ts'

const HEADING = ['', 'requests/s', 'ratio', 'CPU µs/request', 'ratio']
const DATABASE = 'CPU µs database'
const HEADING_AFTER = [
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

/** A section's rows, notes and comparisons, as text. */
export function sectionText({ rows, notes }: SectionResult): string {
  const bases = new Set(rows.flatMap(({ base }) => base ?? []))
  const ratios = [...bases].map((base) => {
    const compared = rows.filter((row) => row.base === base).map((row) => row.name)
    return `Ratio: ${compared.join('; ')} to ${base}.`
  })
  const tables = rows.length === 0 ? [] : [rowsTable(rows)]
  return [...tables, ...ratios, ...notes, ...versionsTable(rows)].join('\n')
}

/** The column for the database is there if a row has one. */
function rowsTable(rows: Row[]): string {
  const hasDatabase = rows.some(({ databaseMicroseconds }) => databaseMicroseconds)
  const heading = [...HEADING, ...(hasDatabase ? [DATABASE] : []), ...HEADING_AFTER]
  return table([heading, ...rows.map((row) => cells(row, hasDatabase))])
}

/** This server relative to the other version, where both were measured. */
function versionsTable(rows: Row[]): string[] {
  const compared = rows.flatMap(({ name, toOther }) =>
    toOther ? [[name, rangeOf(toOther.requestsPerSecond), rangeOf(toOther.cpuMicroseconds)]] : [],
  )
  return compared.length === 0
    ? []
    : ['', table([['this version to the other', 'requests/s', 'CPU µs/request'], ...compared])]
}

/** Text in columns: the first one left-aligned, the others right-aligned. */
export function table(rows: string[][]): string {
  const width = (column: number) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0))
  return rows
    .map((cells) => cells.map((cell, at) => (at === 0 ? cell.padEnd(width(at)) : cell.padStart(width(at)))).join('  '))
    .map((line) => line.trimEnd())
    .join('\n')
}

function cells(row: Row, hasDatabase: boolean): string[] {
  return [
    row.name,
    Math.round(row.requestsPerSecond).toLocaleString('en'),
    decimals(row.ratio, 2),
    decimals(row.cpuMicroseconds, 1),
    decimals(row.cpuRatio, 2),
    ...(hasDatabase ? [decimals(row.databaseMicroseconds, 1)] : []),
    ...[row.p50, row.p99, row.p999, row.max].map((milliseconds) => milliseconds.toFixed(2)),
    String(row.errors),
    row.memoryPeak.toFixed(0),
    row.memoryEnd.toFixed(0),
    percent(row.serverShare),
    percent(row.loadShare),
  ]
}

function rangeOf(ratio: Ratio | null): string {
  return ratio ? `${decimals(ratio.median, 3)} (${decimals(ratio.least, 2)}–${decimals(ratio.most, 2)})` : ''
}

function decimals(number: number | null, digits: number): string {
  return number === null ? '' : number.toFixed(digits)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
