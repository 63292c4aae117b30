import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { expiresAt, isTokenSecret, parseToken, tokenIdText } from '../domain/token.ts'

/** An access token that is good, and whose it is. */
export interface ActiveToken {
  application: Application
  /** The public id, a UUID. */
  tokenId: string
  /** Milliseconds since the epoch. */
  issuedAt: number
  expiresAt: number
}

/** An access token that is not good, and why: for the log alone. */
export interface InactiveToken {
  reason: string
  tokenId?: string
  clientId?: string
}

/**
 * Whether an access token is good now: one question to the store, and no write.
 * Throws StoreUnavailable when the store cannot be read.
 */
export async function checkToken(
  { store, now }: { store: Store; now: Clock },
  accessToken: string,
): Promise<ActiveToken | InactiveToken> {
  const parsed = parseToken(accessToken)
  if (!parsed) return { reason: 'malformed token' }
  const found = await store.findToken(parsed.id)
  if (!found || !isTokenSecret(parsed.secret, found.stored)) return { reason: 'unknown token' }

  const { stored, application } = found
  const tokenId = tokenIdText(stored.id)
  if (!application) return { reason: 'removed application', tokenId }
  const inactive = (reason: string) => ({ reason, tokenId, clientId: application.clientId })
  if (expiresAt(stored) <= now()) return inactive('expired token')
  if (stored.revokedAt !== null || stored.issuedAt < application.tokensValidFrom) return inactive('revoked token')
  if (application.status === 'suspended') return inactive('suspended application')
  return { application, tokenId, issuedAt: stored.issuedAt, expiresAt: expiresAt(stored) }
}
