import { cpus, release, totalmem } from 'node:os'
import type { Times } from '../measure.ts'
import type { Row } from '../row.ts'

/** What is written to the JSON file. */
export interface Results {
  machine: Machine
  /** When the run began, RFC 3339. */
  startedAt: string
  /** The load average over a minute before it began. */
  loadBefore: number
  times: Times
  quick: boolean
  sections: SectionResult[]
  targets: TargetResult[]
}

/** What a section measured. */
export interface SectionResult {
  name: string
  title: string
  rows: Row[]
  /** Sentences for the reader of the table. */
  notes: string[]
  plots: Plot[]
  targets: TargetResult[]
  /** Whether it ended early; its notes say why. */
  failed: boolean
}

/** A picture of a section's rows: a bar for the requests per second or the CPU time of each, or three for its latency. */
export interface Plot {
  file: string
  title: string
  bars: 'speed' | 'latency' | 'cpu'
}

/** What became of a target. */
export interface TargetResult {
  asked: string
  /** Null: not measured. */
  value: number | null
  /** The least and the most of the rounds, if it is a ratio of rows. */
  range: readonly [number, number] | null
  isMet: boolean
}

/** What figures depend on. Those of different machines cannot be compared. */
export interface Machine {
  cpu: string
  cores: number
  /** GiB. */
  memory: number
  kernel: string
  node: string
}

export function thisMachine(): Machine {
  const all = cpus()
  return {
    cpu: all[0]?.model ?? 'unknown',
    cores: all.length,
    memory: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    node: process.version,
  }
}

/** A machine in one line. */
export function describeMachine({ cpu, cores, memory, kernel, node }: Machine): string {
  return `${cores} cores of ${cpu}, ${memory} GiB, Linux ${kernel}, Node.js ${node}`
}
