import type { ServerNode } from './node.ts'

/** How a server is doing, for people and their programs. Times are milliseconds since the epoch. */
export interface Statistics {
  readonly at: number
  readonly startedAt: number
  readonly version: string
  /** Up to now; less where it has not run for so long. */
  readonly lastMinute: Traffic
  readonly lastHour: Traffic
  /** The minutes of the last hour, oldest first, and then the 60 seconds up to now. */
  readonly minutes: readonly Minute[]
  /** Every ten seconds of the last ten minutes, and now: what was done in the 60 seconds before. */
  readonly lately: readonly Minute[]
  /** Why something was refused in the last hour, the most frequent reason first. */
  readonly refusals: readonly RefusedFor[]
  /** Tokens that a check would find active; undefined: not known yet. */
  readonly liveTokens: LiveTokens | undefined
  /** Undefined: not known yet. */
  readonly endingSecrets: EndingSecrets | undefined
  readonly workers: Workers
  /** All that share the store and have told, by their names; this one, too. None where the store is one machine's. */
  readonly nodes: readonly NodeStatistics[]
  readonly store: StoreStatistics
}

/** What was done in a span of time. */
export interface Traffic {
  readonly tokens: number
  readonly activeChecks: number
  /** Checks that found a token not to be active, or not approved. */
  readonly inactiveChecks: number
  readonly refusals: number
  /** Of the requests for tokens and of the checks; undefined: there was none. */
  readonly tokenLatency: Latency | undefined
  readonly checkLatency: Latency | undefined
}

/** How long requests took, in seconds: half of them at most this long, and 99 in 100. */
export interface Latency {
  readonly p50: number
  readonly p99: number
}

export interface Minute {
  readonly endedAt: number
  /** Undefined: it is not known, for the server did not run, or was held up. */
  readonly traffic: Traffic | undefined
}

export interface RefusedFor {
  /** Of an authentication (a client that is not known, or has a wrong secret), or of a request for another reason. */
  readonly kind: 'authentication' | 'request'
  readonly reason: string
  readonly count: number
}

export interface LiveTokens {
  readonly count: number
  /** Whether they were counted; else there are many, and it is about so many. */
  readonly isExact: boolean
}

/** Who has an active secret now, and soon none any more. */
export interface EndingSecrets {
  readonly inADay: number
  readonly inAWeek: number
  /** Some of those within a week, the next one first. */
  readonly next: readonly EndingSecret[]
}

export interface EndingSecret {
  readonly kind: 'application' | 'suite'
  /** The client id, or the id of the suite. */
  readonly id: string
  readonly name: string
  /** When its last secret ends. */
  readonly endsAt: number
}

/** The processes that answer requests. */
interface Workers {
  readonly expected: number
  readonly serving: number
  /** In the last second, those that have told. */
  readonly each: readonly WorkerStatistics[]
}

export interface WorkerStatistics {
  /** From 1 on. */
  readonly worker: number
  /** CPU time in seconds. */
  readonly cpuSeconds: number
  readonly residentBytes: number
  /** The longest that its event loop was late. */
  readonly lagSeconds: number
}

export interface NodeStatistics extends ServerNode {
  /** Whether it is the one that these statistics are of. */
  readonly isThis: boolean
  /** Whether it was not seen for so long that it may have been killed, or cannot reach the store. */
  readonly isGone: boolean
}

interface StoreStatistics {
  readonly kind: 'sqlite' | 'postgres'
  readonly isUp: boolean
  /** Bytes; undefined: not known yet, and `log` also where that is not this server's. */
  readonly databaseBytes: number | undefined
  readonly logBytes: number | undefined
  /** The last backup by `token-server backup`; undefined: none is known. */
  readonly lastBackupAt: number | undefined
}

/** Where statistics come from. */
export interface StatisticsSource {
  /** One look. Resolves soon, whatever hangs; what cannot be had is as it was, or undefined. */
  read(): Promise<Statistics>
}
