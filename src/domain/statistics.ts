import type { RefusedClient } from './refusal.ts'

/** What clients have trouble with, on all nodes; the most frequent first. */
export interface Trouble {
  /** Applications and suites that are being refused, or were in the last day. `recoveredAt`: when they worked in between. */
  readonly failing: readonly (Pick<RefusedClient, 'kind' | 'id' | 'name'> &
    Refused & { recoveredAt?: number | undefined; remedy?: string })[]
  /** Applications that are not failing, but would have been refused in the last day, if that were not only reported. */
  readonly reported: readonly ({ id: string; name: string; remedy: string } & Refused)[]
  /** Checks of tokens that belong to no known application, in the last hour. */
  readonly refusedChecks: readonly ({ suite: string } & Refused)[]
  /** Removed applications whose client id, or one with the same beginning and length, was refused in the last day. */
  readonly removed: readonly ({ clientId: string; name: string; by: string; at: number } & Omit<Refused, 'reason'>)[]
  /** Whether more clients were refused in the last day than were examined. */
  readonly isPartial?: boolean
}

/** `since` is when this reason first occurred. */
interface Refused {
  reason: string
  count: number
  since: number
}

/** An application or a suite that will lose its last secret, or the one that it still uses. */
export interface EndingSecret {
  readonly what: 'secret' | 'federated credential'
  readonly kind: 'application' | 'suite'
  readonly id: string
  readonly name: string
  readonly secretId: number
  readonly endsAt: number
  /** Null if it has not been used, or not for as long as that is known. */
  readonly lastUsedAt: number | null
  /** Null for a suite. */
  readonly developerEmail: string | null
  /** The newest one of the same owner that ends later. Null if there is none. */
  readonly newerId: number | null
}

/** The last report of one of the servers that share a store. */
export interface ServerNode {
  /** A UUID, new at each start. */
  readonly id: string
  readonly name: string
  readonly version: string
  readonly startedAt: number
  readonly lastSeenAt: number
  readonly workers: { readonly expected: number; readonly serving: number }
  readonly lastMinute: { readonly tokens: number; readonly checks: number; readonly refusals: number }
}

/** An outage ends after this long without a failed request. Milliseconds. */
export const OUTAGE_GAP_MS = 60_000

/** The age at which a backup causes a warning. Milliseconds. */
export const OLD_BACKUP_MS = 48 * 60 * 60_000

/** How long before the end of a certificate a warning begins. Milliseconds. */
export const CERTIFICATE_ENDS_MS = 14 * 24 * 60 * 60_000

/** Interval of the reports. Milliseconds. */
export const NODE_INTERVAL_MS = 10_000

/** A node that has not reported for longer counts as gone. Milliseconds. */
export const NODE_GONE_MS = 30_000

/** A node that has not reported for this long is deleted. Milliseconds. */
export const NODE_FORGOTTEN_MS = 24 * 60 * 60_000
