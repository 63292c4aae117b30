import type { Findings } from './bench.ts'
import type { Machine } from './machine.ts'
import type { Row, Times } from './measure.ts'

/** A section's findings, under its name. */
export interface SectionResult extends Findings {
  name: string
  title: string
}

/** What is written to the JSON file. */
export interface Results {
  machine: Machine
  /** When it began, RFC 3339. */
  startedAt: string
  times: Times
  quick: boolean
  sections: SectionResult[]
}

/** A row by its section and name; undefined where that was not measured. */
export function findRow({ sections }: Pick<Results, 'sections'>, section: string, row: string): Row | undefined {
  return sections.find(({ name }) => name === section)?.rows.find(({ name }) => name === row)
}
