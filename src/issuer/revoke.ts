import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { isTokenSecret, parseToken, tokenIdText } from '../domain/token.ts'

/**
 * Revokes an access token of this application, RFC 7009 §2.1. Resolves, when the token's revocation is durable, to its
 * public id, or to undefined where it was revoked already. A token that is unknown or another client's is left as it is:
 * undefined, too. Throws StoreUnavailable.
 */
export async function revoke(
  { store, now }: { store: Store; now: Clock },
  application: Application,
  accessToken: string,
): Promise<string | undefined> {
  const parsed = parseToken(accessToken)
  if (!parsed) return undefined
  const found = await store.findToken(parsed.id)
  if (!found || !isTokenSecret(parsed.secret, found.stored)) return undefined

  const { stored } = found
  if (stored.applicationKey !== application.key) return undefined
  // Also where it is revoked already: that may have been a moment ago, in any process, and not be on disk yet.
  await store.revokeToken(stored.id, now())
  return stored.revokedAt === null ? tokenIdText(stored.id) : undefined
}
