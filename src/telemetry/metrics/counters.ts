import { CATALOGUE, type Metric } from './catalogue.ts'

export type MetricName = keyof typeof CATALOGUE

/** What was counted in a period: indexes and amounts, alternating. */
export type Difference = number[]

/** A line of a metric: the values of its labels, in their order, and the index of its first number. */
export interface Series {
  labels: readonly string[]
  at: number
}

export type Counters = ReturnType<typeof createCounters>

/**
 * Creates the counters: a number, at first 0, for each series of the catalogue that counts events. A histogram has several for
 * each series: one for each bucket (not cumulative), one for larger values, and the sum.
 */
export function createCounters() {
  const series = new Map<string, Series[]>()
  let size = 0
  for (const [name, { type, labels, buckets }] of Object.entries<Metric>(CATALOGUE)) {
    const width = buckets ? buckets.length + 2 : 1
    // No combinations if the values of a label are known only when the server starts.
    const lines = type === 'gauge' ? [] : combinations(Object.values(labels))
    const begin = size
    const ofMetric = lines.map((values, index) => ({ labels: values, at: begin + index * width }))
    series.set(name, ofMetric)
    size += lines.length * width
  }
  const values = new Float64Array(size)

  function add(at: number, amount: number): void {
    values[at] = (values[at] as number) + amount
  }

  return {
    add,
    valueAt: (at: number) => values[at] as number,
    values: () => values.slice(),
    seriesOf: (name: string) => series.get(name) as Series[],

    /** Returns what was counted since the last call, for another process to merge. */
    take(): Difference {
      const difference: Difference = []
      for (const [at, value] of values.entries()) if (value !== 0) difference.push(at, value)
      values.fill(0)
      return difference
    },

    /** Adds what another process has counted. */
    merge(difference: Difference): void {
      for (let at = 0; at < difference.length; at += 2) add(difference[at] as number, difference[at + 1] as number)
    },
  }
}

function combinations(lists: (readonly string[])[]): string[][] {
  const none: string[][] = [[]]
  return lists.reduce((lines, values) => lines.flatMap((line) => values.map((value) => [...line, value])), none)
}
