/** That a call was made that may be repeated, and its answer. */
export interface IdempotencyRecord {
  /** Of whose call it was, and of its key. */
  readonly digest: string
  /** The answer, for nobody but whoever makes the same call again. */
  readonly sealed: string
}

/** How long a call can be repeated. 24 hours, in milliseconds. */
export const IDEMPOTENCY_LIFETIME = 24 * 60 * 60 * 1000

/** The call was made already; the change was not made again. */
export class IdempotencyKeyTaken extends Error {
  override readonly name = 'IdempotencyKeyTaken'
}
