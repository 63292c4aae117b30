import { type Application, abbreviated, isSource, MAX_CLIENT_ID_LENGTH } from '../domain/application.ts'
import { mayBeJwt } from '../domain/federation.ts'
import type { AuthenticationReason } from '../domain/reasons.ts'
import { AuthenticationRefused } from '../domain/refusal.ts'
import { DECOY, findGenerated, importedCandidates, isFederated, type Secret, secretState } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import type { Suite } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import type { Failures } from './failures.ts'
import type { Federated, Presented } from './federated.ts'
import type { ImportedSecrets } from './imported-secrets.ts'
import type { SecretUses } from './token-counts.ts'

export interface Credentials extends Presented {
  clientId: string
}

/** An authenticated client, and the id of the secret that it presented. */
interface Authenticated<Client extends Application | Suite> {
  client: Client
  secretId: number
  /** Whether an application sent it from an address that is not among its source addresses, which is only reported. */
  isElsewhere?: boolean | undefined
}

interface AuthenticationOptions {
  store: Store
  imported: ImportedSecrets
  federated: Federated
  failures: Failures
  secretUses: SecretUses
  now: Clock
}

/**
 * Client authentication, RFC 6749 §2.3.1. A correct secret that is generated or cached always passes, and so does the JWT of a
 * federated credential. All other attempts are limited, and cost the same work: as many scrypt checks as the application with the
 * most imported secrets needs. Throws AuthenticationRefused, or RequestRefused after too many failures or while too many checks
 * wait.
 */
export async function authenticate(
  options: AuthenticationOptions,
  credentials: Credentials,
  remoteAddress: string,
): Promise<Authenticated<Application>> {
  const { store, imported, federated, failures } = options
  const { clientId, clientSecret } = credentials

  const tryKnownSecrets = async () =>
    judgeKnown(options, await findApplication(store, clientId), credentials, remoteAddress)

  let outcome = await tryKnownSecrets()
  if (outcome.kind === 'authenticated') return authenticated(options, outcome, clientId, remoteAddress)
  const { client } = outcome
  const caller = { clientId, remoteAddress, isRegistered: client !== undefined }
  if (mayBeJwt(clientSecret)) {
    const refused = await federated.verify(client?.secrets ?? [], credentials, failures.partyOf(caller))
    if (!refused) outcome = await tryKnownSecrets()
    else if (client?.secrets.some(isFederated)) outcome = { ...outcome, reason: refused.reason, detail: refused.detail }
    if (outcome.kind === 'authenticated') return authenticated(options, outcome, clientId, remoteAddress)
  }
  return failures.attempt(caller, async () => {
    const checks = await store.mostImportedSecrets()
    if (checks === 0) return authenticated(options, outcome, clientId, remoteAddress)
    const own = importedCandidates(client?.secrets ?? [])
    const decoys = Array(Math.max(0, checks - own.length)).fill(DECOY)
    await imported.verify([...own, ...decoys], clientSecret, failures.partyOf(caller))
    // Look it up again: the checks may have taken seconds, and the application may have changed since.
    const last = await tryKnownSecrets()
    const isWrong = last.kind === 'refused' && last.reason === 'wrong secret'
    return authenticated(options, isWrong ? outcome : last, clientId, remoteAddress)
  })
}

/** Authenticates an application from the cached registry. Undefined if `authenticate` must decide. */
export function authenticateRecalled(
  options: Pick<AuthenticationOptions, 'store' | 'imported' | 'federated' | 'now'>,
  credentials: Credentials,
  remoteAddress: string,
) {
  const recalled = options.store.recallApplication(credentials.clientId)
  if (!recalled) return undefined
  const { application, state } = recalled
  const outcome = judgeKnown(options, application, credentials, remoteAddress)
  if (outcome.kind === 'refused') return undefined
  const { secretId, isElsewhere } = outcome
  return { client: application, secretId, isElsewhere, state }
}

/**
 * Authentication of a suite for introspection, RFC 7662 §2.1. Throws AuthenticationRefused, after the same work for every reason:
 * all secrets of suites are generated.
 */
export async function authenticateSuite(
  options: Pick<AuthenticationOptions, 'store' | 'secretUses' | 'now'>,
  { clientId, clientSecret }: Credentials,
  remoteAddress: string,
): Promise<Authenticated<Suite>> {
  const { store, now } = options
  const suite = clientId.length > MAX_CLIENT_ID_LENGTH ? undefined : await store.findSuite(clientId)
  const secret = findGenerated(suite?.secrets ?? [], clientSecret)
  const outcome = judge(suite, secret, now())
  // Looked up for every refusal, so that all cost the same work.
  const isApplication = outcome.kind === 'refused' && (await findApplication(store, clientId)) !== undefined
  if (!suite && isApplication) throw new AuthenticationRefused('not a suite', clientId)
  return authenticated(options, outcome, clientId, remoteAddress)
}

/** Throws StoreUnavailable. */
export async function isRegistered(store: Store, clientId: string): Promise<boolean> {
  return (await findApplication(store, clientId)) !== undefined || (await store.findSuite(clientId)) !== undefined
}

/** Does not look up a client id that is too long: no application has it, and no cache should keep it. */
function findApplication(store: Store, clientId: string): Promise<Application | undefined> {
  return clientId.length > MAX_CLIENT_ID_LENGTH ? Promise.resolve(undefined) : store.findApplication(clientId)
}

type Outcome<Client extends Application | Suite> =
  | ({ kind: 'authenticated' } & Authenticated<Client>)
  | { kind: 'refused'; client: Client | undefined; reason: AuthenticationReason; detail?: string | undefined }

/** Decides whether an application is authenticated by a secret that is generated or cached, or by a JWT that was examined. */
function judgeKnown(
  { imported, federated, now }: Pick<AuthenticationOptions, 'imported' | 'federated' | 'now'>,
  application: Application | undefined,
  credentials: Credentials,
  remoteAddress: string,
): Outcome<Application> {
  // Before the secret is compared, so that a correct one from elsewhere takes as long as a wrong one.
  const isElsewhere = application !== undefined && !isSource(application, remoteAddress)
  const secrets = application?.secrets ?? []
  const { clientSecret } = credentials
  const secret =
    findGenerated(secrets, clientSecret) ??
    imported.findVerified(secrets, clientSecret) ??
    federated.findVerified(secrets, credentials)
  const outcome = judge(application, secret, now())
  if (!isElsewhere || outcome.kind === 'refused') return outcome
  if (application.reportOnly.includes('source_addresses')) return { ...outcome, isElsewhere }
  return { kind: 'refused', client: application, reason: 'address not allowed' }
}

/** Decides whether a client is authenticated. The client or the presented secret may be unknown. */
function judge<Client extends Application | Suite>(
  client: Client | undefined,
  secret: Secret | undefined,
  now: number,
): Outcome<Client> {
  if (!client) return { kind: 'refused', client, reason: 'unknown client' }
  if (!secret) return { kind: 'refused', client, reason: 'wrong secret' }
  const state = secretState(secret, now)
  if (state !== 'active') return { kind: 'refused', client, reason: `${state} secret` }
  if ('status' in client && client.status === 'suspended') {
    return { kind: 'refused', client, reason: 'suspended application' }
  }
  return { kind: 'authenticated', client, secretId: secret.id }
}

/** Returns the authenticated client, and notes that its secret was used. Throws AuthenticationRefused. */
function authenticated<Client extends Application | Suite>(
  { secretUses, now }: Pick<AuthenticationOptions, 'secretUses' | 'now'>,
  outcome: Outcome<Client>,
  clientId: string,
  remoteAddress: string,
): Authenticated<Client> {
  if (outcome.kind === 'authenticated') {
    secretUses.note(outcome.secretId, now(), remoteAddress)
    return outcome
  }
  throw new AuthenticationRefused(outcome.reason, outcome.client ? clientId : abbreviated(clientId), outcome.detail)
}
