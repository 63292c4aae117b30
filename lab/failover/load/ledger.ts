import type { Credentials } from '../../bench/world/checkout.ts'

/** A token, and what was acknowledged to clients about it. Times are of the monotonic clock, milliseconds. */
export interface Entry {
  token: string
  application: Credentials
  issuedAt: number
  /** When its revocation was first requested, and when the client had received the acknowledgement. */
  revokeSentAt?: number
  revokedAt?: number
}

/** How many checks were answered wrongly. */
export interface Wrong {
  /** A revoked token was accepted, though the check began after the answer to the revocation. */
  acceptedLate: number
  /** A token that nobody had asked to revoke was refused. */
  refusedWrongly: number
}

/** What is wrong with the answer to a check, if anything. The check began at `sentAt` and was answered just now. */
export function wrongIn(entry: Entry, status: number, sentAt: number): keyof Wrong | undefined {
  if (status === 200 && entry.revokedAt !== undefined && entry.revokedAt <= sentAt) return 'acceptedLate'
  if (status === 401 && entry.revokeSentAt === undefined) return 'refusedWrongly'
  return undefined
}
