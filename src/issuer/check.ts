import type { Application } from '../domain/application.ts'
import type { InactiveReason } from '../domain/reasons.ts'
import type { FoundToken, Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { expiresAt, isOfGeneration, isTokenSecret, parseToken, tokenIdText } from '../domain/token.ts'

export type Verdict = ActiveToken | RefusedToken

/** An active token; if a suite is named, its application is approved for that suite. */
export interface ActiveToken {
  kind: 'active'
  application: Application
  /** The public id, a UUID. */
  tokenId: string
  /** The only suite where it is valid; null: every suite that the application is approved for. */
  audience: string | null
  issuedAt: number
  expiresAt: number
}

/** Any other token. The reason and the ids are only for the log. `url`: of the suite, if it has one. */
export type RefusedToken = { tokenId?: string; clientId?: string; url?: string } & (
  | { kind: 'inactive'; reason: InactiveReason }
  | { kind: 'not approved'; reason: 'application not approved' }
  | { kind: 'no such suite'; reason: 'no such suite' }
)

/**
 * Checks whether an access token is active and, if a suite is named, whether its application is approved for it. An active token
 * takes one call to the store, and no write. Throws StoreUnavailable.
 */
export async function check(
  { store, now }: { store: Store; now: Clock },
  accessToken: string | undefined,
  { suite }: { suite?: string | undefined },
): Promise<Verdict> {
  const parsed = accessToken === undefined ? undefined : parseToken(accessToken)
  const found = parsed && (await store.findToken(parsed.id))
  const verdict =
    parsed && found && isTokenSecret(parsed.secret, found.stored)
      ? judge(found, suite, now())
      : inactive(accessToken === undefined ? 'no token' : parsed ? 'unknown token' : 'malformed token')

  // An unknown suite takes precedence over any problem of the token. It is looked up last, because an application that is
  // approved for a suite proves that the suite exists.
  if (verdict.kind === 'active' || suite === undefined) return verdict
  const { url } = (await store.findSuite(suite)) ?? {}
  if (url === undefined) return { kind: 'no such suite', reason: 'no such suite' }
  return url === '' ? verdict : { ...verdict, url }
}

function judge({ stored, application }: FoundToken, suite: string | undefined, now: number): Verdict {
  const tokenId = tokenIdText(stored.id)
  if (!application) return inactive('removed application', { tokenId })
  const { clientId } = application
  if (expiresAt(stored) <= now) return inactive('expired token', { tokenId, clientId })
  if (stored.revokedAt !== null || !isOfGeneration(stored, application.tokenGeneration)) {
    return inactive('revoked token', { tokenId, clientId })
  }
  if (application.status === 'suspended') return inactive('suspended application', { tokenId, clientId })
  if (stored.audience !== null && stored.audience !== suite) {
    return inactive('token for another suite', { tokenId, clientId })
  }
  if (suite !== undefined && !application.suites.includes(suite)) {
    return { kind: 'not approved', reason: 'application not approved', tokenId, clientId }
  }
  const { audience, issuedAt } = stored
  return { kind: 'active', application, tokenId, audience, issuedAt, expiresAt: expiresAt(stored) }
}

function inactive(reason: InactiveReason, known: { tokenId?: string; clientId?: string } = {}): Verdict {
  return { kind: 'inactive', reason, ...known }
}

/**
 * Revokes an access token of this application, RFC 7009 §2.1. Resolves to the token's public id once the revocation is durable;
 * to undefined if the token is unknown, already revoked, or another client's. Throws StoreUnavailable.
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
  // Done even if it is already revoked: another request may have done that a moment ago, and it may not be on disk yet.
  await store.revokeToken(stored.id, now())
  return stored.revokedAt === null ? tokenIdText(stored.id) : undefined
}
