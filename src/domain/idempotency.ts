/** A completed call that may be retried, with its answer. */
export interface IdempotencyRecord {
  /** Digest of the operator and the idempotency key. */
  readonly digest: string
  /** The answer, encrypted so that only a retry by the same caller can read it. */
  readonly sealed: string
}

/** How long a call can be retried. 24 hours, in milliseconds. */
export const IDEMPOTENCY_LIFETIME = 24 * 60 * 60 * 1000

/** The call was already made; nothing was changed this time. */
export class IdempotencyKeyTaken extends Error {
  override readonly name = 'IdempotencyKeyTaken'
}
