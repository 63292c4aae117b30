import { OUTAGE_GAP_MS } from '../../domain/statistics.ts'
import type { Outage } from '../../views/statistics.ts'
import type { Counters, Series } from './counters.ts'

/** How many outages are kept. */
const MAX_OUTAGES = 10

/** Requests that failed at the same time. */
export function outageAt(at: number, failures: number): Outage {
  return { beganAt: at, endedAt: at, failures }
}

/** The outages of the store, oldest first. Joins failures that are less than a minute apart. */
export function joinOutages(outages: readonly Outage[]): Outage[] {
  const joined: Outage[] = []
  for (const next of outages) {
    const last = joined.at(-1)
    const continued = last && next.beganAt - last.endedAt < OUTAGE_GAP_MS ? joined.pop() : undefined
    const { beganAt, failures } = continued ?? { beganAt: next.beganAt, failures: 0 }
    joined.push({ beganAt, endedAt: next.endedAt, failures: failures + next.failures })
  }
  return joined.slice(-MAX_OUTAGES)
}

/** Returns a function that counts the requests that failed since its last call because the store could not be used. */
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
