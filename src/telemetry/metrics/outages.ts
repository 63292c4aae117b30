import { OUTAGE_GAP_MS } from '../../domain/statistics.ts'
import type { Outage } from '../../views/statistics.ts'
import type { Counters, Series } from './counters.ts'

/** How many outages are kept. */
const MAX_OUTAGES = 10

/** The last outages of the store, oldest first, known by the requests that fail. */
export function createOutages() {
  const outages: Outage[] = []
  return {
    list: (): readonly Outage[] => [...outages],

    /** Adds requests that failed at this time to the last outage, or begins another one. */
    add(failures: number, endedAt: number): void {
      if (failures === 0) return
      const last = outages.at(-1)
      const continued = last && endedAt - last.endedAt < OUTAGE_GAP_MS ? outages.pop() : undefined
      const { beganAt, failures: before } = continued ?? { beganAt: endedAt, failures: 0 }
      outages.push({ beganAt, endedAt, failures: before + failures })
      outages.splice(0, outages.length - MAX_OUTAGES)
    },
  }
}

/** Returns a function that returns how many requests have failed since its last call because the store could not be used. */
export function countFailures({ seriesOf, valueAt }: Counters): () => number {
  const isOfStore = ({ labels }: Series) => labels[0] === 'store unavailable'
  const { at } = seriesOf('request_refusals_total').find(isOfStore) as Series
  let seen = valueAt(at)
  return () => {
    const before = seen
    seen = valueAt(at)
    return seen - before
  }
}
