/** The last report of one of the servers that share a store. Times are milliseconds since the epoch. */
export interface ServerNode {
  /** A UUID, new at each start. */
  readonly id: string
  /** Host name and port. */
  readonly name: string
  readonly version: string
  readonly startedAt: number
  readonly lastSeenAt: number
  readonly workers: { readonly expected: number; readonly serving: number }
  /** Requests in the minute before the report. */
  readonly lastMinute: { readonly tokens: number; readonly checks: number; readonly refusals: number }
}

/** Interval of the reports. Milliseconds. */
export const NODE_INTERVAL_MS = 10_000

/** A node that has not reported for longer counts as gone. Milliseconds. */
export const NODE_GONE_MS = 30_000

/** A node that has not reported for this long is deleted. Milliseconds. */
export const NODE_FORGOTTEN_MS = 24 * 60 * 60_000
