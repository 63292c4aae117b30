import type { ApplicationCounts, Counts, Period } from './usage.ts'
import type { SourceOf } from './views/schema.ts'
import type {
  ENDING_SECRET,
  ENDING_SECRETS,
  LIVE_TOKENS,
  MINUTE,
  NODE,
  OUTAGE,
  REFUSED_FOR,
  STATISTICS,
  TRAFFIC,
  WORKER,
} from './views/statistics.ts'

type Figures = SourceOf<typeof STATISTICS>
type WithoutNull<Value> = { readonly [Name in keyof Value]: Exclude<Value[Name], null> }

/** The state and traffic of a server. Undefined: not known. */
export interface Statistics extends WithoutNull<Omit<Figures, 'nodes' | 'store'>> {
  readonly store: WithoutNull<Figures['store']>
  /** The last ten minutes, as a sliding 60-second window that moves by ten seconds. */
  readonly lastTenMinutes: readonly Minute[]
  readonly nodes: readonly NodeStatistics[]
  readonly trouble: Trouble | undefined
  /** The applications that got many tokens in the last 60 minutes, on all nodes, most first. */
  readonly heavy: readonly Pick<ApplicationCounts, 'clientId' | 'name' | 'tokens'>[]
  /** In the first hour: what all applications did in the last one, on all nodes, up to two minutes late. Then nothing. */
  readonly stored: Counts
}

/** What clients have trouble with, on all nodes; the most frequent first. */
export interface Trouble {
  /** Applications and suites that are refused now, and were refused in the last day. */
  readonly failing: readonly ({ kind: 'application' | 'suite'; id: string; name: string } & Refused)[]
  /** Checks of tokens that are of no known application, in the last hour. */
  readonly refusedChecks: readonly ({ suite: string } & Refused)[]
  /** Removed applications whose client id, or one with the same beginning and length, was refused in the last day. */
  readonly removed: readonly ({ clientId: string; name: string; by: string; at: number } & Omit<Refused, 'reason'>)[]
}

/** `since`: when this reason came up. */
interface Refused {
  reason: string
  count: number
  since: number
}

/** What works of the store. */
export type StoreState = Pick<Statistics['store'], 'isUp' | 'canWrite' | 'canCheck' | 'problem'>

export type Traffic = SourceOf<typeof TRAFFIC>
export type Latency = Traffic['tokenLatency']
export type Minute = SourceOf<typeof MINUTE>
export type RefusedFor = SourceOf<typeof REFUSED_FOR>
export type Outage = SourceOf<typeof OUTAGE>
export type LiveTokens = SourceOf<typeof LIVE_TOKENS>
export type EndingSecrets = SourceOf<typeof ENDING_SECRETS>
export type EndingSecret = SourceOf<typeof ENDING_SECRET>
export type WorkerStatistics = SourceOf<typeof WORKER>

export type NodeStatistics = ServerNode & Pick<SourceOf<typeof NODE>, 'isThis' | 'isGone'>

export interface StatisticsSource {
  /** Resolves soon even if the store or a worker hangs: missing values are those of the last call, or undefined. */
  read(): Promise<Statistics>
  /** What `read` has as `trouble`. */
  readTrouble(): Promise<Trouble | undefined>
  /** What `read` has as `outages`. */
  outages(): readonly Outage[]
  /** What each application did that did something in a period, a minute or two late. Resolves soon; undefined: not known yet. */
  readUsage(period: Period): Promise<readonly ApplicationCounts[] | undefined>
}

/** The last report of one of the servers that share a store. */
export interface ServerNode extends Omit<SourceOf<typeof NODE>, 'isThis' | 'isGone'> {
  /** A UUID, new at each start. */
  readonly id: string
}

/** An outage ends after this long without a failed request. Milliseconds. */
export const OUTAGE_GAP_MS = 60_000

/** A backup that is older is worth a warning. Milliseconds. */
export const OLD_BACKUP_MS = 48 * 60 * 60_000

/** Interval of the reports. Milliseconds. */
export const NODE_INTERVAL_MS = 10_000

/** A node that has not reported for longer counts as gone. Milliseconds. */
export const NODE_GONE_MS = 30_000

/** A node that has not reported for this long is deleted. Milliseconds. */
export const NODE_FORGOTTEN_MS = 24 * 60 * 60_000
