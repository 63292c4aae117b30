import { createFailures, type FailureOptions } from '../../src/issuer/failures.ts'

/** A limit of failures that a test can set the clock of; without options there is none. */
export function failures(options: Partial<FailureOptions> = {}) {
  return createFailures({ isLimited: false, isShared: () => false, monotonic: () => 0, ...options })
}
