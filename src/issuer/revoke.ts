import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { isTokenSecret, parseToken, tokenIdText } from '../domain/token.ts'

/**
 * Revokes an access token of this application, RFC 7009 §2.1. Resolves to its public id when that is durable, and to
 * undefined, changing nothing, for a token that is unknown, another client's or revoked already. Throws StoreUnavailable.
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
  if (stored.applicationKey !== application.key || stored.revokedAt !== null) return undefined
  await store.revokeToken(stored.id, now())
  return tokenIdText(stored.id)
}
