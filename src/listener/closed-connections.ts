import type { ClosingReason, ListenerName, Observer } from '../domain/events.ts'

/** Between two reports with the same reason. */
const QUIET_MS = 60_000

export type ClosedConnections = ReturnType<typeof countClosedConnections>

/**
 * Counts the connections that are closed because of a limit. They can be thousands in a second, so the first one of a reason
 * is reported at once, and then the number of each minute.
 */
export function countClosedConnections(
  observe: Observer,
  {
    quiet = QUIET_MS,
    measure,
    listener,
  }: { quiet?: number; measure?: Observer | undefined; listener?: ListenerName | undefined } = {},
) {
  const counts = new Map<ClosingReason, { connections: number; remoteAddress: string | undefined }>()
  const timers = new Map<ClosingReason, NodeJS.Timeout>()

  /** Counts one; the address is the client's. */
  function count(reason: ClosingReason, remoteAddress: string | undefined): void {
    measure?.({ type: 'connection closed', reason })
    counts.set(reason, { connections: (counts.get(reason)?.connections ?? 0) + 1, remoteAddress })
    if (!timers.has(reason)) report(reason)
  }

  function report(reason: ClosingReason): void {
    timers.delete(reason)
    const counted = counts.get(reason)
    if (!counted) return
    counts.delete(reason)
    observe({ type: 'connections closed', reason, listener, ...counted })
    timers.set(reason, setTimeout(report, quiet, reason).unref())
  }

  /** Reports what was not reported yet. */
  function end(): void {
    for (const [reason, timer] of [...timers]) {
      clearTimeout(timer)
      report(reason)
    }
  }

  return { count, end }
}
