import { type Application, abbreviated, MAX_CLIENT_ID_LENGTH } from '../domain/application.ts'
import type { AuthenticationReason } from '../domain/reasons.ts'
import { AuthenticationRefused } from '../domain/refusal.ts'
import { DECOY, findGenerated, importedCandidates, type Secret, secretState } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import type { Suite } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import type { Failures } from './failures.ts'
import type { ImportedSecrets } from './imported-secrets.ts'
import type { SecretUses } from './token-counts.ts'

export interface Credentials {
  clientId: string
  clientSecret: string
}

/** Who was authenticated, and the id of the secret that proved it. */
export interface Authenticated<Client extends Application | Suite> {
  client: Client
  secretId: number
}

export interface AuthenticationOptions {
  store: Store
  imported: ImportedSecrets
  failures: Failures
  secretUses: SecretUses
  now: Clock
}

/**
 * Client authentication, RFC 6749 §2.3.1. What is right and cheap to see as right always passes. The rest is limited, and
 * does the same work whatever comes of it: as many scrypt checks as any application has imported secrets. Throws
 * AuthenticationRefused, and RequestRefused where too many failed before or too many checks wait.
 */
export async function authenticate(
  { store, imported, failures, secretUses, now }: AuthenticationOptions,
  credentials: Credentials,
  remoteAddress: string,
): Promise<Authenticated<Application>> {
  const { clientId, clientSecret } = credentials

  async function recognize(): Promise<Judgement<Application>> {
    const application = await findApplication(store, clientId)
    const secrets = application?.secrets ?? []
    const secret = findGenerated(secrets, clientSecret) ?? imported.findVerified(secrets, clientSecret)
    return judge(application, secret, now(), secretUses)
  }

  const first = await recognize()
  if (first.kind === 'authenticated') return first
  const caller = { clientId, remoteAddress, isRegistered: first.client !== undefined }
  return failures.attempt(caller, async () => {
    const checks = await store.mostImportedSecrets()
    if (checks === 0) return authenticated(first, credentials)
    const own = importedCandidates(first.client?.secrets ?? [])
    const decoys = Array(Math.max(0, checks - own.length)).fill(DECOY)
    await imported.verify([...own, ...decoys], clientSecret, failures.partyOf(caller))
    // That may have taken seconds, in which the application may have been changed.
    return authenticated(await recognize(), credentials)
  })
}

/**
 * Authentication of a suite that asks about tokens, RFC 7662 §2.1. Throws AuthenticationRefused, after the same work
 * whatever the reason: all suites have generated secrets.
 */
export async function authenticateSuite(
  { store, secretUses, now }: { store: Store; secretUses: SecretUses; now: Clock },
  credentials: Credentials,
): Promise<Authenticated<Suite>> {
  const { clientId } = credentials
  const suite = clientId.length > MAX_CLIENT_ID_LENGTH ? undefined : await store.findSuite(clientId)
  const secret = findGenerated(suite?.secrets ?? [], credentials.clientSecret)
  const judgement = judge(suite, secret, now(), secretUses)
  // Whatever the reason, for it is the same work.
  const isApplication = judgement.kind === 'refused' && (await findApplication(store, clientId)) !== undefined
  if (!suite && isApplication) throw new AuthenticationRefused('not a suite', clientId)
  return authenticated(judgement, credentials)
}

/** Longer client ids are not looked for, and not kept in any cache: no application has one. */
export function findApplication(store: Store, clientId: string): Promise<Application | undefined> {
  return clientId.length > MAX_CLIENT_ID_LENGTH ? Promise.resolve(undefined) : store.findApplication(clientId)
}

type Judgement<Client extends Application | Suite> =
  | ({ kind: 'authenticated' } & Authenticated<Client>)
  | { kind: 'refused'; client: Client | undefined; reason: AuthenticationReason }

/**
 * What is to be said of a client (undefined: unknown) that presented this secret (undefined: none of its own). Notes the use
 * of one that is accepted.
 */
function judge<Client extends Application | Suite>(
  client: Client | undefined,
  secret: Secret | undefined,
  now: number,
  secretUses: SecretUses,
): Judgement<Client> {
  if (!client) return { kind: 'refused', client, reason: 'unknown client' }
  if (!secret) return { kind: 'refused', client, reason: 'wrong secret' }
  const state = secretState(secret, now)
  if (state !== 'active') return { kind: 'refused', client, reason: `${state} secret` }
  if ('status' in client && client.status === 'suspended') {
    return { kind: 'refused', client, reason: 'suspended application' }
  }
  secretUses.note(secret.id, now)
  return { kind: 'authenticated', client, secretId: secret.id }
}

function authenticated<Client extends Application | Suite>(
  judgement: Judgement<Client>,
  { clientId }: Credentials,
): Authenticated<Client> {
  if (judgement.kind === 'authenticated') return judgement
  throw new AuthenticationRefused(judgement.reason, judgement.client ? clientId : abbreviated(clientId))
}
