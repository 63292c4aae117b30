import type { Application } from '../domain/application.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { mintToken, TOKEN_LIFETIME, tokenIdText } from '../domain/token.ts'
import type { TokenCounts } from './token-counts.ts'

/** An access token as it was issued, RFC 6749 §5.1. */
export interface IssuedToken {
  accessToken: string
  /** The public id, a UUID. */
  tokenId: string
  /** Milliseconds since the epoch. */
  issuedAt: number
  /** Whole seconds that the token surely has left. */
  expiresIn: number
}

/**
 * Issues a token to an authenticated application. Resolves when it is durable; throws StoreUnavailable, and RequestRefused
 * where that is more than the application's quota.
 */
export async function issue(
  { store, tokenCounts, now }: { store: Store; tokenCounts: TokenCounts; now: Clock },
  application: Application,
): Promise<IssuedToken> {
  const issuedAt = now()
  const counter = tokenCounts.find(application.key, issuedAt) ?? (await tokenCounts.open(application, issuedAt))
  tokenCounts.count(counter, issuedAt)
  // Of the generation in which it was authenticated: a revoke-all that comes in between revokes this token, too.
  const { accessToken, stored } = mintToken(application.key, issuedAt, application.tokenGeneration)
  try {
    await store.addToken(stored)
    counter.lastTokenAt = issuedAt
  } catch (error) {
    counter.issued--
    throw error
  }
  const left = Math.floor((issuedAt + TOKEN_LIFETIME - now() - 1) / 1000)
  return { accessToken, tokenId: tokenIdText(stored.id), issuedAt, expiresIn: Math.min(Math.max(left, 0), 3599) }
}
