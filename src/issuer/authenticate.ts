import type { Application } from '../domain/application.ts'
import type { Clock } from '../domain/clock.ts'
import { Refusal } from '../domain/refusal.ts'
import { DECOY, findGenerated, isImported, type Secret } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import type { Suite } from '../domain/suite.ts'
import type { ImportedSecrets } from './imported-secrets.ts'

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
  let application: Application | undefined

  async function recognise(): Promise<Application | string> {
    application = await store.findApplication(clientId)
    const secrets = application?.secrets ?? []
    const remembered = (secret: Secret) => isImported(secret) && imported.remembers(secret, clientSecret)
    return judge(application, findGenerated(secrets, clientSecret) ?? secrets.find(remembered), now())
  }

  let verdict = await recognise()
  if (typeof verdict === 'string' && (await store.hasImportedSecrets())) {
    await imported.matches(application?.secrets.find(isImported) ?? DECOY, clientSecret)
    // That may have waited for seconds: what another process changed meanwhile is believed.
    verdict = await recognise()
  }
  if (typeof verdict !== 'string') return verdict
  throw refusal(verdict, clientId, application)
}

/**
 * Authentication of a suite where it asks about tokens, RFC 7662 §2.1. Throws `invalid_client`, the same for every cause
 * and after the same work: all suites have generated secrets.
 */
export async function authenticateSuite(
  { store, now }: { store: Store; now: Clock },
  { clientId, clientSecret }: Credentials,
): Promise<Suite> {
  const suite = await store.findSuite(clientId)
  const secret = findGenerated(suite?.secrets ?? [], clientSecret)
  const verdict = judge(suite, secret, now())
  if (typeof verdict !== 'string') return verdict
  throw refusal(verdict, clientId, suite)
}

/** The client, or the true reason to refuse it. */
function judge<Client extends Application | Suite>(
  client: Client | undefined,
  secret: Secret | undefined,
  now: number,
) {
  if (!client) return 'unknown client'
  if (!secret) return 'wrong secret'
  if (secret.endsAt !== null && secret.endsAt <= now) return 'expired secret'
  if ('status' in client && client.status === 'suspended') return 'suspended application'
  return client
}

function refusal(reason: string, clientId: string, client: Application | Suite | undefined): Refusal {
  const log = { reason, client_id: client ? clientId : abbreviate(clientId) }
  return new Refusal('invalid_client', 'Unknown client or wrong secret', log)
}

/** What came as the client id and is none may be a secret in the wrong place: its beginning and length must do. */
function abbreviate(clientId: string): string {
  return `${clientId.slice(0, 4)}... (${clientId.length} characters)`
}
