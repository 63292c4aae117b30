/** The state and traffic of a server. Times are milliseconds since the epoch. */
export interface Statistics {
  readonly at: number
  readonly startedAt: number
  readonly version: string
  /** Up to now; shorter if the server started later. */
  readonly lastMinute: Traffic
  readonly lastHour: Traffic
  /** The full minutes of the last hour, oldest first, then the 60 seconds up to now. */
  readonly minutes: readonly Minute[]
  /** The last ten minutes, as a sliding 60-second window that moves by ten seconds. */
  readonly lately: readonly Minute[]
  /** Reasons for refusals in the last hour, most frequent first. */
  readonly refusals: readonly RefusedFor[]
  /** Tokens that a check would call active; undefined: not known yet. */
  readonly liveTokens: LiveTokens | undefined
  /** Undefined: not known yet. */
  readonly endingSecrets: EndingSecrets | undefined
  readonly workers: Workers
  /** All nodes that share the store, including this one, sorted by name; empty on SQLite. */
  readonly nodes: readonly NodeStatistics[]
  readonly store: StoreStatistics
}

/** Requests in a span of time. */
export interface Traffic {
  readonly tokens: number
  readonly activeChecks: number
  /** Checks of tokens that were inactive or not approved. */
  readonly inactiveChecks: number
  readonly refusals: number
  /** Undefined: there were no such requests. */
  readonly tokenLatency: Latency | undefined
  readonly checkLatency: Latency | undefined
}

/** Percentiles of the duration of requests. Seconds. */
export interface Latency {
  readonly p50: number
  readonly p99: number
}

export interface Minute {
  readonly endedAt: number
  /** Undefined: the server was not running, or was blocked. */
  readonly traffic: Traffic | undefined
}

export interface RefusedFor {
  /** `authentication`: wrong credentials; `request`: any other reason. */
  readonly kind: 'authentication' | 'request'
  readonly reason: string
  readonly count: number
}

export interface LiveTokens {
  readonly count: number
  /** False: there are too many to count, and `count` is an estimate. */
  readonly isExact: boolean
}

/** Applications and suites whose last active secret ends soon. */
export interface EndingSecrets {
  readonly inADay: number
  readonly inAWeek: number
  /** The first few of those that end within a week, the next one first. */
  readonly next: readonly EndingSecret[]
}

export interface EndingSecret {
  readonly kind: 'application' | 'suite'
  /** Client id or suite id. */
  readonly id: string
  readonly name: string
  /** When its last active secret ends. */
  readonly endsAt: number
}

/** The processes that answer requests. */
interface Workers {
  readonly expected: number
  readonly serving: number
  /** Workers that reported in the last second. */
  readonly each: readonly WorkerStatistics[]
}

export interface WorkerStatistics {
  /** Starts at 1. */
  readonly worker: number
  readonly cpuSeconds: number
  readonly residentBytes: number
  /** Longest delay of the event loop. */
  readonly lagSeconds: number
}

export interface NodeStatistics extends ServerNode {
  /** Whether it is the node that answered. */
  readonly isThis: boolean
  /** It has not reported for a while: it may have been killed, or cannot reach the store. */
  readonly isGone: boolean
}

interface StoreStatistics {
  readonly kind: 'sqlite' | 'postgres'
  readonly isUp: boolean
  /** Undefined: not known yet; on PostgreSQL `logBytes` is never known. */
  readonly databaseBytes: number | undefined
  readonly logBytes: number | undefined
  /** The last `token-server backup`; undefined: none is known. */
  readonly lastBackupAt: number | undefined
}

export interface StatisticsSource {
  /** Resolves soon even if the store or a worker hangs: missing values are then those of the last call, or undefined. */
  read(): Promise<Statistics>
}

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
