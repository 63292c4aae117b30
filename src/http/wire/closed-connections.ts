import type { ClosingReason, Observer } from '../../domain/events.ts'

/** Between two lines on the same reason. */
const QUIET_MS = 60_000

export type ClosedConnections = ReturnType<typeof countClosedConnections>

/**
 * Counts the connections that are closed because of a limit. There is no line for each, for a client can have thousands
 * closed in a second: each reason is said at once, and then once a minute with how many there were.
 */
export function countClosedConnections(
  observe: Observer,
  { quiet = QUIET_MS, measure }: { quiet?: number; measure?: Observer | undefined } = {},
) {
  const counts = new Map<ClosingReason, { connections: number; remoteAddress: string | undefined }>()
  const timers = new Map<ClosingReason, NodeJS.Timeout>()

  /** One more; the address is that of the other side. */
  function count(reason: ClosingReason, remoteAddress: string | undefined): void {
    measure?.({ type: 'connection closed', reason })
    counts.set(reason, { connections: (counts.get(reason)?.connections ?? 0) + 1, remoteAddress })
    if (!timers.has(reason)) say(reason)
  }

  function say(reason: ClosingReason): void {
    timers.delete(reason)
    const counted = counts.get(reason)
    if (!counted) return
    counts.delete(reason)
    observe({ type: 'connections closed', reason, ...counted })
    timers.set(reason, setTimeout(say, quiet, reason).unref())
  }

  /** Says what was not said yet. */
  function end(): void {
    for (const [reason, timer] of [...timers]) {
      clearTimeout(timer)
      say(reason)
    }
  }

  return { count, end }
}
