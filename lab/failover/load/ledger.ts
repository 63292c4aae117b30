import type { Credentials } from '../../bench/world/checkout.ts'

/** What clients were told of one token. Times are of the monotonic clock, milliseconds. */
export interface Entry {
  token: string
  application: Credentials
  issuedAt: number
  /** When its revocation was asked for first, and when a good answer to that had arrived. */
  revokeSentAt?: number
  revokedAt?: number
}

/** How many checks were answered as they must not be. */
export interface Wrong {
  /** Yes to a revoked token, though the check began after the answer to the revocation. */
  acceptedLate: number
  /** No to a token that nobody had asked to revoke. */
  refusedWrongly: number
}

/** What an answer to a check says that it must not, if anything. The check began at `sentAt` and was answered just now. */
export function wrongIn(entry: Entry, status: number, sentAt: number): keyof Wrong | undefined {
  if (status === 200 && entry.revokedAt !== undefined && entry.revokedAt <= sentAt) return 'acceptedLate'
  if (status === 401 && entry.revokeSentAt === undefined) return 'refusedWrongly'
  return undefined
}
