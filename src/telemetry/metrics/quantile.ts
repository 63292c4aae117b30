/**
 * The value that this share of what a histogram has is not above, as Prometheus estimates it: the values of a bucket are taken
 * to be spread evenly. `counts` has a number for each bucket and one for what is beyond. Undefined: there is nothing in it.
 */
export function quantile(share: number, counts: readonly number[], bounds: readonly number[]): number | undefined {
  const rank = share * counts.reduce((sum, count) => sum + count, 0)
  if (rank === 0) return undefined
  let below = 0
  for (const [bucket, bound] of bounds.entries()) {
    const count = counts[bucket] as number
    if (below + count >= rank) {
      const lower = bounds[bucket - 1] ?? 0
      return lower + ((bound - lower) * (rank - below)) / count
    }
    below += count
  }
  return bounds.at(-1)
}
