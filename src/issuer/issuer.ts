import type { Application } from '../domain/application.ts'
import type { PublicFieldsOf } from '../domain/audit-event.ts'
import type { Observer } from '../domain/events.ts'
import { RequestRefused } from '../domain/refusal.ts'
import { type RegistryState, type Store, StoreUnavailable } from '../domain/store.ts'
import { resourceUrl } from '../domain/suite.ts'
import type { Clock } from '../domain/time.ts'
import { mintToken, TOKEN_LIFETIME, tokenIdText } from '../domain/token.ts'
import { createExaminer } from '../federation/examine.ts'
import {
  authenticate,
  authenticateRecalled,
  authenticateSuite,
  type Credentials,
  isRegistered,
} from './authenticate.ts'
import { check, revoke } from './check.ts'
import type { Failures } from './failures.ts'
import { createFederated } from './federated.ts'
import { handOver } from './hand-over.ts'
import { createImportedSecrets } from './imported-secrets.ts'
import { createSecretUses, createTokenCounts, type TokenCounts, type TokenQuota } from './token-counts.ts'

export type Issuer = ReturnType<typeof createIssuer>

interface IssuerOptions {
  store: Store
  now: Clock
  failures: Failures
  observe: Observer
  /** The issuer of access tokens, and the audience of what authenticates clients. */
  publicUrl: string
  tokenQuota?: TokenQuota
  /** Undefined if hand-over links are off. */
  publicFields?: PublicFieldsOf | undefined
}

export interface IssuedToken {
  accessToken: string
  /** A UUID. */
  tokenId: string
  /** The only suite where it is valid; null: every suite that the application is approved for. */
  audience: string | null
  issuedAt: number
  /** Its remaining lifetime in whole seconds. */
  expiresIn: number
  /** Whether it exceeds the application's quota, which is only reported. */
  isOverQuota: boolean
}

/** Creates the issuer: everything that the endpoints do, independent of HTTP. */
export function createIssuer({ tokenQuota, publicFields, ...options }: IssuerOptions) {
  const { store, now, failures } = options
  const secretUses = createSecretUses({ store })
  const tokenCounts = createTokenCounts({ store, tokenQuota })
  const issue = createIssue({ store, now, tokenCounts })
  const imported = createImportedSecrets()
  const federated = createFederated({ examine: createExaminer(options), now })
  const issuer = { store, now, failures, imported, federated, secretUses }
  return {
    authenticate: (credentials: Credentials, remoteAddress: string) => authenticate(issuer, credentials, remoteAddress),
    authenticateSuite: (credentials: Credentials, remoteAddress: string) =>
      authenticateSuite(issuer, credentials, remoteAddress),
    /** Whether an application or a suite has this client id. Throws StoreUnavailable. */
    isRegistered: (clientId: string) => isRegistered(store, clientId),
    /** The URL of a suite, empty if it has none; undefined if there is no such suite. Throws StoreUnavailable. */
    urlOf: async (suiteId: string) => (await store.findSuite(suiteId))?.url,
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

  /**
   * Authenticates an application and issues a token to it, RFC 6749 §4.4; with a resource, for the suite with that URL alone, RFC
   * 8707 §2. Throws like `authenticate` and `issue`, and RequestRefused if the application may not use the resource.
   */
  async function grant(credentials: Credentials, remoteAddress: string, resource?: string) {
    const recalled = resource ? undefined : authenticateRecalled(issuer, credentials, remoteAddress)
    const token = recalled && (await issue(recalled.client, recalled.state))
    if (token) {
      secretUses.note(recalled.secretId, token.issuedAt, remoteAddress)
      return { ...recalled, token }
    }
    const { client, secretId, isElsewhere } = await authenticate(issuer, credentials, remoteAddress)
    const audience = resource ? await audienceOf(store, client, resource) : null
    return { client, secretId, isElsewhere, token: await issue(client, undefined, audience) }
  }
}

/** The suite that a resource means; null if no suite has a URL: then this is an unknown field, which is ignored. */
async function audienceOf(store: Store, { suites }: Application, resource: string): Promise<string | null> {
  const suiteIds = await store.suiteUrls()
  if (suiteIds.size === 0) return null
  const suite = suiteIds.get(resourceUrl(resource) ?? '')
  if (suite === undefined) throw new RequestRefused('unknown resource')
  if (!suites.includes(suite)) throw new RequestRefused('resource not approved', { suite })
  return suite
}

function createIssue({ store, now, tokenCounts }: Pick<IssuerOptions, 'store' | 'now'> & { tokenCounts: TokenCounts }) {
  return issue

  /**
   * Issues a token to an authenticated application, RFC 6749 §5.1. Resolves when it is durable; throws StoreUnavailable, and
   * RequestRefused if the application's quota is used up. With `state`, resolves to undefined if the registry may have changed
   * since: read it, and decide again. `audience`: the only suite where it is valid.
   */
  async function issue(application: Application, state?: undefined, audience?: string | null): Promise<IssuedToken>
  async function issue(application: Application, state: RegistryState): Promise<IssuedToken | undefined>
  async function issue(
    application: Application,
    state?: RegistryState,
    audience: string | null = null,
  ): Promise<IssuedToken | undefined> {
    const issuedAt = assertAfterEpoch(now())
    const counter = tokenCounts.find(application.key, issuedAt) ?? (await tokenCounts.open(application, issuedAt))
    if (state && tokenCounts.refuses(counter, application)) return undefined
    const isOverQuota = tokenCounts.count(counter, application, issuedAt)
    // The generation was read at authentication: if all tokens were revoked since then, this one is revoked as well.
    const { accessToken, stored } = mintToken(application.key, issuedAt, application.tokenGeneration, audience)
    let isAdded = false
    try {
      isAdded = await store.addToken(stored, state)
    } finally {
      if (isAdded) counter.lastTokenAt = issuedAt
      else counter.issued--
    }
    if (!isAdded) return undefined
    const expiresIn = secondsLeft(issuedAt, now())
    return { accessToken, tokenId: tokenIdText(stored.id), audience, issuedAt, expiresIn, isOverQuota }
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
