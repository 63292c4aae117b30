import type { Application } from './application.ts'
import type { Clock } from './clock.ts'
import type { ImportedSecrets } from './imported-secrets.ts'
import { Refusal } from './refusal.ts'
import { DECOY, findGenerated, isImported, type Secret } from './secret.ts'
import type { Store } from './store.ts'

export interface Credentials {
  clientId: string
  clientSecret: string
}

/**
 * Client authentication, RFC 6749 §2.3.1. Throws `invalid_client`, the same for every cause and after the same work:
 * where any application has an imported secret, every refusal has cost one scrypt check.
 */
export async function authenticate(
  { store, imported, now }: { store: Store; imported: ImportedSecrets; now: Clock },
  { clientId, clientSecret }: Credentials,
): Promise<Application> {
  const application = await store.findApplication(clientId)
  const secrets = application?.secrets ?? []
  const brought = secrets.find(isImported)

  let secret = findGenerated(secrets, clientSecret)
  if (!secret && brought && imported.remembers(brought, clientSecret)) secret = brought

  let verdict = judge(application, secret, now())
  if (typeof verdict === 'string' && (await store.hasImportedSecrets())) {
    const matched = await imported.matches(brought ?? DECOY, clientSecret)
    if (matched && brought) secret = brought
    verdict = judge(application, secret, now())
  }
  if (typeof verdict !== 'string') return verdict

  const log = { reason: verdict, client_id: application ? clientId : abbreviate(clientId) }
  throw new Refusal('invalid_client', 'Unknown client or wrong secret', log)
}

/** The application, or the true reason to refuse it. */
function judge(application: Application | undefined, secret: Secret | undefined, now: number): Application | string {
  if (!application) return 'unknown client'
  if (!secret) return 'wrong secret'
  if (secret.endsAt !== null && secret.endsAt <= now) return 'expired secret'
  if (application.status === 'suspended') return 'suspended application'
  return application
}

/** What came as the client id and is none may be a secret in the wrong place: its beginning and length must do. */
function abbreviate(clientId: string): string {
  return `${clientId.slice(0, 4)}... (${clientId.length} characters)`
}
