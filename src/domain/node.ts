/** One of the servers that share a store, as it has told last. Times are milliseconds since the epoch. */
export interface ServerNode {
  /** A UUID, drawn anew at each start. */
  readonly id: string
  /** For people: its machine and its port. */
  readonly name: string
  readonly version: string
  readonly startedAt: number
  readonly lastSeenAt: number
  readonly workers: { readonly expected: number; readonly serving: number }
  /** What it did in the minute before. */
  readonly lastMinute: { readonly tokens: number; readonly checks: number; readonly refusals: number }
}

/** How often each node tells how it is doing. Milliseconds. */
export const NODE_INTERVAL_MS = 10_000

/** A node that was not seen for longer is taken for gone. Milliseconds. */
export const NODE_GONE_MS = 30_000

/** A node that was not seen for so long is forgotten. Milliseconds. */
export const NODE_FORGOTTEN_MS = 24 * 60 * 60_000
