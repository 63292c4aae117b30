import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { mintToken, TOKEN_LIFETIME, tokenIdText } from '../domain/token.ts'
import { authenticate, authenticateSuite, type Credentials } from './authenticate.ts'
import { checkToken } from './check.ts'
import { createImportedSecrets } from './imported-secrets.ts'
import { revoke } from './revoke.ts'

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

export type Issuer = ReturnType<typeof createIssuer>

/** What callers from outside can ask of the issuer. All state is in the store. */
export function createIssuer({ store, now }: { store: Store; now: Clock }) {
  const imported = createImportedSecrets()

  /** Issues a token to an authenticated application. Resolves when it is on disk; throws StoreUnavailable. */
  async function issue(application: Application): Promise<IssuedToken> {
    // A revocation may be dated a moment ahead of this clock: what is issued after it must be good.
    const issuedAt = Math.max(now(), application.tokensValidFrom)
    const { accessToken, stored } = mintToken(application.id, issuedAt)
    await store.addToken(stored)
    const left = Math.floor((issuedAt + TOKEN_LIFETIME - now() - 1) / 1000)
    return { accessToken, tokenId: tokenIdText(stored.id), issuedAt, expiresIn: Math.min(Math.max(left, 0), 3599) }
  }

  return {
    authenticate: (credentials: Credentials) => authenticate({ store, imported, now }, credentials),
    authenticateSuite: (credentials: Credentials) => authenticateSuite({ store, now }, credentials),
    issue,
    checkToken: (accessToken: string) => checkToken({ store, now }, accessToken),
    revoke: (application: Application, accessToken: string) => revoke({ store, now }, application, accessToken),
    /** Whether there is such a suite; throws StoreUnavailable. */
    hasSuite: async (suiteId: string) => (await store.findSuite(suiteId)) !== undefined,
    /** Resolves when the store can be read; throws StoreUnavailable. */
    checkReady: () => store.check(),
  }
}
