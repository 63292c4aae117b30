// The audit trail is a chain: each event has the hash of the one before.

/** An audit event with its place in the chain. */
export interface AuditLink {
  readonly id: number
  readonly at: number
  readonly action: string
  /** The id in `subject` of AuditEvent. */
  readonly subject: string
  /** When it got its hash: at the same time, or later if an older program wrote it; null if it has none yet. */
  readonly chainedAt: number | null
  /** The event before it; null for the first one. */
  readonly previousAt: number | null
  readonly previousHash: string | null
  /** As it is stored. */
  readonly hash: string | null
  /** As it must be, for what is stored. */
  readonly actualHash: string
}

/** The last event that is chained. Its hash depends on all events before it. */
export interface AuditHead {
  readonly id: number
  readonly at: number
  readonly hash: string
}
