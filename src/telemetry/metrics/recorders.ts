import { CATALOGUE, type Metric } from './catalogue.ts'
import type { Name, Numbers } from './numbers.ts'

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
