import { CATALOGUE, type Metric } from './catalogue.ts'

export type Name = keyof typeof CATALOGUE

/** What was counted since somebody asked: a place among the numbers and what is to be added there, and so on. */
export type Difference = number[]

/** A line of a metric: the values of its labels, in their order, and the place of its first number. */
export interface Series {
  labels: readonly string[]
  at: number
}

export type Numbers = ReturnType<typeof createNumbers>

/**
 * A number for each series of the catalogue that counts events, all 0. A histogram has several for each: how many were in
 * each of its buckets and not in the one before, how many beyond the last bucket, and the sum.
 */
export function createNumbers() {
  const series = new Map<string, Series[]>()
  let size = 0
  for (const [name, metric] of Object.entries<Metric>(CATALOGUE)) {
    if (metric.type === 'gauge' || isOfWorkers(metric)) continue
    const width = metric.buckets ? metric.buckets.length + 2 : 1
    const lines = combinations(Object.values(metric.labels))
    const begin = size
    series.set(
      name,
      lines.map((labels, index) => ({ labels, at: begin + index * width })),
    )
    size += lines.length * width
  }
  const values = new Float64Array(size)

  function add(at: number, amount: number): void {
    values[at] = (values[at] as number) + amount
  }

  return {
    add,
    valueAt: (at: number) => values[at] as number,
    /** The series of a metric; none where it is not counted. */
    seriesOf: (name: string) => series.get(name) ?? [],

    /** What was counted since the last call, for another process to add; here all begins at 0 again. */
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

/** Whether the values of its labels are known at the start of a server only. */
function isOfWorkers({ labels }: Metric): boolean {
  return Object.values(labels).some((values) => values.length === 0)
}

/** Every combination of one value from each list. */
function combinations(lists: (readonly string[])[]): string[][] {
  const none: string[][] = [[]]
  return lists.reduce((lines, values) => lines.flatMap((line) => values.map((value) => [...line, value])), none)
}

/** Functions that add to the numbers of one metric each. They make nothing that would have to be collected. */
export function createRecorders({ add, seriesOf }: Pick<Numbers, 'add' | 'seriesOf'>) {
  /** Where each value of a metric's first label begins; one without labels begins at `undefined`. */
  function placesOf(name: Name): Map<string | undefined, number> {
    const places = new Map<string | undefined, number>()
    for (const { labels, at } of seriesOf(name)) if (!places.has(labels[0])) places.set(labels[0], at)
    return places
  }

  /** Adds to a counter. */
  function counter(name: Name): (amount: number) => void {
    const at = placesOf(name).get(undefined) as number
    return (amount) => add(at, amount)
  }

  /** Adds one to a counter with one label. */
  function counterOf(name: Name): (label: string) => void {
    const places = placesOf(name)
    return (label) => add(places.get(label) as number, 1)
  }

  /** Notes a value in a histogram with one label or none. */
  function histogram(name: Name): (value: number, label?: string) => void {
    const places = placesOf(name)
    const { buckets = [] } = CATALOGUE[name] as Metric
    const beyond = buckets.length
    return (value, label) => {
      const at = places.get(label) as number
      let bucket = 0
      while (bucket < beyond && value > (buckets[bucket] as number)) bucket++
      add(at + bucket, 1)
      add(at + beyond + 1, value)
    }
  }

  return { placesOf, counter, counterOf, histogram }
}
