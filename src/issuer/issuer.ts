import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import type { Store } from '../domain/store.ts'
import { authenticate, authenticateSuite, type Credentials } from './authenticate.ts'
import { check } from './check.ts'
import type { Failures } from './failures.ts'
import { createImportedSecrets } from './imported-secrets.ts'
import { issue } from './issue.ts'
import { revoke } from './revoke.ts'

export type Issuer = ReturnType<typeof createIssuer>

/** What callers from outside can ask of the issuer, composed: each answer is explained in its own file. */
export function createIssuer({ store, now, failures }: { store: Store; now: Clock; failures: Failures }) {
  const issuer = { store, now, failures, imported: createImportedSecrets() }
  return {
    authenticate: (credentials: Credentials, remoteAddress: string) => authenticate(issuer, credentials, remoteAddress),
    authenticateSuite: (credentials: Credentials) => authenticateSuite(issuer, credentials),
    issue: (application: Application) => issue(issuer, application),
    check: (accessToken: string | undefined, audience: { suite?: string | undefined }) =>
      check(issuer, accessToken, audience),
    revoke: (application: Application, accessToken: string) => revoke(issuer, application, accessToken),
    /** Resolves when the store can be used; throws StoreUnavailable. */
    ready: () => store.ping(),
  }
}
