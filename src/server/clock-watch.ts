import type { Clock } from '../domain/clock.ts'

/** Less than this is not a jump: NTP slews, and a process may be stopped between two readings. */
const TOLERANCE_MS = 60_000

/**
 * Watches the system's clock beside a monotonic one, which nobody sets. Returns a function that tells by how many
 * milliseconds the clock has jumped since it was called last; 0 where it has not.
 */
export function watchClock({ now, monotonic }: { now: Clock; monotonic: Clock }): () => number {
  let ahead = now() - monotonic()
  return () => {
    const jump = now() - monotonic() - ahead
    ahead += jump
    return Math.abs(jump) > TOLERANCE_MS ? jump : 0
  }
}
