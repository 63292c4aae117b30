import type { Application } from '../domain/application.ts'
import type { PublicFieldsOf } from '../domain/audit-event.ts'
import type { Observer } from '../domain/events.ts'
import { type RegistryState, type Store, StoreUnavailable } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'
import { mintToken, TOKEN_LIFETIME, tokenIdText } from '../domain/token.ts'
import {
  authenticate,
  authenticateRecalled,
  authenticateSuite,
  type Credentials,
  isRegistered,
} from './authenticate.ts'
import { check, revoke } from './check.ts'
import type { Failures } from './failures.ts'
import { handOver } from './hand-over.ts'
import { createImportedSecrets } from './imported-secrets.ts'
import { createSecretUses, createTokenCounts, type TokenQuota } from './token-counts.ts'

export type Issuer = ReturnType<typeof createIssuer>

interface IssuerOptions {
  store: Store
  now: Clock
  failures: Failures
  tokenQuota?: TokenQuota
  /** Undefined if hand-over links are off. */
  publicFields?: PublicFieldsOf | undefined
}

export interface IssuedToken {
  accessToken: string
  /** A UUID. */
  tokenId: string
  issuedAt: number
  /** Its remaining lifetime in whole seconds. */
  expiresIn: number
  /** Whether it exceeds the application's quota, which is only reported. */
  isOverQuota: boolean
}

/** Creates the issuer: everything that the endpoints do, independent of HTTP. */
export function createIssuer({ store, now, failures, tokenQuota, publicFields }: IssuerOptions) {
  const secretUses = createSecretUses({ store })
  const tokenCounts = createTokenCounts({ store, tokenQuota })
  const imported = createImportedSecrets()
  const issuer = { store, now, failures, imported, secretUses }
  return {
    authenticate: (credentials: Credentials, remoteAddress: string) => authenticate(issuer, credentials, remoteAddress),
    authenticateSuite: (credentials: Credentials) => authenticateSuite(issuer, credentials),
    /** Whether an application or a suite has this client id. Throws StoreUnavailable. */
    isRegistered: (clientId: string) => isRegistered(store, clientId),
    hasSuite: async (suiteId: string) => (await store.findSuite(suiteId)) !== undefined,
    grant,
    issue,
    check: (accessToken: string | undefined, audience: { suite?: string | undefined }) =>
      check(issuer, accessToken, audience),
    revoke: (application: Application, accessToken: string) => revoke(issuer, application, accessToken),
    handOver:
      publicFields &&
      ((code: string, source: Parameters<typeof handOver>[2], observe: Observer) =>
        handOver({ ...issuer, publicFields, observe }, code, source)),
    /** Hands all counts to the store. Throws StoreUnavailable; the next call tries again. */
    async flushUsage(observe: Observer): Promise<void> {
      await secretUses.flush()
      await tokenCounts.flush(now(), observe)
    },
    importedSecretChecks: imported.load,
    isBusy: () => store.isBusy(),
    /** Resolves if the store can be used; else throws StoreUnavailable. */
    ready: () => store.ping(),
  }

  /** Authenticates an application and issues a token to it, RFC 6749 §4.4. Throws like `authenticate` and `issue`. */
  async function grant(credentials: Credentials, remoteAddress: string) {
    const recalled = authenticateRecalled(issuer, credentials, remoteAddress)
    const token = recalled && (await issue(recalled.client, recalled.state))
    if (token) {
      secretUses.note(recalled.secretId, token.issuedAt)
      return { ...recalled, token }
    }
    const { client, secretId, isElsewhere } = await authenticate(issuer, credentials, remoteAddress)
    return { client, secretId, isElsewhere, token: await issue(client) }
  }

  /**
   * Issues a token to an authenticated application, RFC 6749 §5.1. Resolves when it is durable; throws StoreUnavailable, and
   * RequestRefused if the application's quota is used up. With `state`, resolves to undefined if the registry may have changed
   * since: read it, and decide again.
   */
  async function issue(application: Application): Promise<IssuedToken>
  async function issue(application: Application, state: RegistryState): Promise<IssuedToken | undefined>
  async function issue(application: Application, state?: RegistryState): Promise<IssuedToken | undefined> {
    const issuedAt = assertAfterEpoch(now())
    const counter = tokenCounts.find(application.key, issuedAt) ?? (await tokenCounts.open(application, issuedAt))
    if (state && tokenCounts.refuses(counter, application)) return undefined
    const isOverQuota = tokenCounts.count(counter, application, issuedAt)
    // The generation was read at authentication: if all tokens were revoked since then, this one is revoked as well.
    const { accessToken, stored } = mintToken(application.key, issuedAt, application.tokenGeneration)
    let isAdded = false
    try {
      isAdded = await store.addToken(stored, state)
    } finally {
      if (isAdded) counter.lastTokenAt = issuedAt
      else counter.issued--
    }
    if (!isAdded) return undefined
    const expiresIn = secondsLeft(issuedAt, now())
    return { accessToken, tokenId: tokenIdText(stored.id), issuedAt, expiresIn, isOverQuota }
  }
}

/** The ids of tokens begin with the milliseconds since the epoch. */
function assertAfterEpoch(now: number): number {
  if (now < 0) throw new StoreUnavailable("this machine's clock is before 1970: set it by NTP")
  return now
}

function secondsLeft(issuedAt: number, now: number): number {
  const left = Math.floor((issuedAt + TOKEN_LIFETIME - now - 1) / 1000)
  return Math.min(Math.max(left, 0), 3599)
}
