import type { Application } from '../domain/application.ts'
import type { Observer } from '../domain/events.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { authenticate, authenticateSuite, type Credentials, findApplication } from './authenticate.ts'
import { check, revoke } from './check.ts'
import type { Failures } from './failures.ts'
import { createImportedSecrets } from './imported-secrets.ts'
import { issue } from './issue.ts'
import { createSecretUses, createTokenCounts } from './token-counts.ts'

export type Issuer = ReturnType<typeof createIssuer>

export interface IssuerOptions {
  store: Store
  now: Clock
  failures: Failures
  /** How many tokens an application may get in an hour; left out: any number. */
  tokenQuota?: number
}

/** What callers from outside can ask of the issuer, composed: each answer is explained in its own file. */
export function createIssuer({ store, now, failures, tokenQuota = Infinity }: IssuerOptions) {
  const secretUses = createSecretUses({ store })
  const tokenCounts = createTokenCounts({ store, tokenQuota })
  const imported = createImportedSecrets()
  const issuer = { store, now, failures, imported, secretUses, tokenCounts }
  return {
    authenticate: (credentials: Credentials, remoteAddress: string) => authenticate(issuer, credentials, remoteAddress),
    authenticateSuite: (credentials: Credentials) => authenticateSuite(issuer, credentials),
    /** Whether an application or a suite has this client id. Throws StoreUnavailable. */
    isRegistered: async (clientId: string) =>
      (await findApplication(store, clientId)) !== undefined || (await store.findSuite(clientId)) !== undefined,
    hasSuite: async (suiteId: string) => (await store.findSuite(suiteId)) !== undefined,
    issue: (application: Application) => issue(issuer, application),
    check: (accessToken: string | undefined, audience: { suite?: string | undefined }) =>
      check(issuer, accessToken, audience),
    revoke: (application: Application, accessToken: string) => revoke(issuer, application, accessToken),
    /** Hands to the store what was counted. Throws StoreUnavailable; nothing is lost then. */
    async flushUsage(tell: Observer): Promise<void> {
      await secretUses.flush()
      await tokenCounts.flush(now(), tell)
    },
    /** How many imported secrets are being checked, and how many wait to be. */
    importedSecretChecks: imported.load,
    /** Resolves when the store can be used; throws StoreUnavailable. */
    ready: () => store.ping(),
  }
}
