/**
 * Estimates a quantile of a histogram like Prometheus, by linear interpolation within a bucket. `share`: 0 to 1. `counts`: not
 * cumulative, one for each bound and one for larger values. Undefined if the histogram is empty.
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
