import type { Application, ApplicationKey, ApplicationNames, NewApplication } from './application.ts'
import type { AuditHead, AuditLink } from './audit-chain.ts'
import type { Audit, AuditEvent, AuditFilter, Authorship } from './audit-event.ts'
import type { Change, ChangeResult } from './change.ts'
import type { Issuer, PublicKey } from './federation.ts'
import type { Notice, NoticeChanges } from './notice.ts'
import type { Operator, Session } from './operator.ts'
import type { NewRefusedRequest, RefusalCount, RefusedClient, RefusedRequest, RefusedRequestFilter } from './refusal.ts'
import type { HandOverLink, OwnedSecret } from './secret.ts'
import type { EndingSecret, ServerNode } from './statistics.ts'
import type { NewSuite, Suite, SuiteKey } from './suite.ts'
import type { StoredToken } from './token.ts'
import type { ClientCounts, KeyCounts, SecretUse, SpanCounts, TokenCount, TokenUse } from './usage.ts'

/**
 * What a store promises; test/store/conformance/ tests it. Times are milliseconds since the epoch.
 *
 * - A change survives a power cut once its method resolves, except for purges, usage and refusals. If a connection breaks at the
 *   commit, usage and refusals may count twice: the next flush adds what may not have been stored.
 * - A request that begins after a change was answered sees that change, whichever process made it.
 * - A method rejects with StoreUnavailable if the store cannot be read or written. A change is made whole or not at all.
 * - A change waits for a few seconds at most. It is rejected at once while the store is known not to answer, or if too many
 *   changes wait. A change that was rejected before its write began is never written.
 */
export interface Store
  extends Registry,
    Changes,
    AuditTrail,
    Operators,
    Tokens,
    Usage,
    Refusals,
    Figures,
    Notices,
    Issuers {
  /** The servers that share the store; undefined on SQLite. */
  readonly nodes: Nodes | undefined
  /**
   * Resolves if the store can be read and, as far as known, written, and the clocks agree. With `isDoubted` (another process
   * could not use it), also tries a write.
   */
  ping(isDoubted?: boolean): Promise<void>
  /** Milliseconds by which the store's clock is ahead of this process's; undefined if not known yet. */
  clockOffset(): number | undefined
  /** Runs maintenance that is due. Resolves to what it could not reclaim; undefined if there is nothing left. */
  backlog(): Promise<Backlog | undefined>
  /**
   * Deletes at most `limit` rows older than this time, oldest first. Resolves to their number. `findToken` may still find a
   * purged token: it has expired anyway.
   */
  purge(what: Purgeable, before: number, limit: number): Promise<number>
  /** Resolves soon, even if the disk hangs; the process must end then. */
  close(): Promise<void>
}

/**
 * `token counts`: those of earlier hours. `usage`: what is older than SPANS allows, at most `limit` of each span. `sign-ins`:
 * expired login codes, hand-over links and sessions (see `isOver`), at most `limit` of each kind. `issuers`: the keys of those that no
 * credential names which is active at that time.
 */
export type Purgeable =
  | 'tokens'
  | 'token counts'
  | 'usage'
  | 'refusals'
  | 'refused requests'
  | 'audit events'
  | 'idempotency records'
  | 'issuers'
  | 'sign-ins'

/** What maintenance could not reclaim, and why: a reader that never ends, an error. */
export interface Backlog {
  readonly bytes: number
  readonly cause: string
}

/** Applications, suites, their secrets, and approvals. Lists are oldest first unless stated otherwise. */
export interface Registry {
  /** Compares byte by byte. Secrets include expired ones. */
  findApplication(clientId: string): Promise<Application | undefined>
  /** Saves a round trip: `addToken` checks the state. Undefined if not read yet, or if `findApplication` needs no round trip. */
  recallApplication(clientId: string): Recalled | undefined
  listApplications(page: Page<ApplicationKey>): Promise<Application[]>
  /** Skips unknown keys. */
  listApplicationsOf(keys: readonly ApplicationKey[]): Promise<Application[]>
  /** Newest first. Much cheaper than reading whole applications. `suite`: for `isApproved`. */
  listNames(page: Page<ApplicationKey> & { suite?: string | undefined }): Promise<ApplicationNames[]>
  /** Every application with one of these names. */
  findNamesakes(names: readonly string[]): Promise<Application[]>
  countApplications(): Promise<number>
  listApprovedApplications(suiteId: string, page: Page<ApplicationKey>): Promise<Application[]>
  /** How many applications are approved for each of these suites, in the same order; each count stops at `limit`. */
  countApproved(suiteIds: readonly string[], limit: number): Promise<number[]>
  /** Secrets include expired ones. */
  findSuite(suiteId: string): Promise<Suite | undefined>
  listSuites(page: Page<SuiteKey>): Promise<Suite[]>
  /** The ids of the suites that have a URL, by that URL. */
  suiteUrls(): Promise<ReadonlyMap<string, string>>
  /** All secrets of applications and suites, ended ones too, by ascending id. `federated`: federated credentials only. */
  listOwnedSecrets(page: Page<number> & { readonly federated?: boolean }): Promise<OwnedSecret[]>
  /** An unused hand-over link. It may have expired. */
  findHandOverLink(digest: string): Promise<FoundHandOver | undefined>
  /** The unused hand-over links of an application, oldest first, including expired ones until the purge. */
  listHandOverLinks(clientId: string): Promise<HandOverLink[]>
  /** The highest number of unrevoked imported secrets of any application; at least 1 if there is any imported secret. */
  mostImportedSecrets(): Promise<number>
}

export interface FoundHandOver extends Pick<HandOverLink, 'madeBy' | 'overlapSeconds'> {
  readonly clientId: string
  readonly name: string
  readonly status: Application['status']
}

/** Each change writes one audit event for each subject that it changed, in its transaction. */
export interface Changes {
  change(change: Change, audit: Audit): Promise<ChangeResult>
  /**
   * Adds the suites and then the applications in one transaction, except those whose id is taken (see also `skipNamesake`).
   * Resolves to those that were added.
   */
  register(clients: NewClients, audit: Audit): Promise<NewClients>
}

export interface AuditTrail {
  /** Newest first. */
  listAuditEvents(filter: AuditFilter): Promise<AuditEvent[]>
  /** The last removals of applications that are not registered now, newest first. */
  listRemovals(limit: number): Promise<AuditEvent[]>
  /** Adds an audit event for each of these warnings. */
  acknowledge(warnings: readonly Warning[], audit: Authorship): Promise<void>
  /** The ids of the last warnings that were acknowledged after this time. */
  listAcknowledged(after: number, limit: number): Promise<string[]>
  /** Oldest first. Each page is read by itself, so that nothing waits. */
  listAuditLinks(page: Page<AuditLink['id']>): Promise<AuditLink[]>
  /** Undefined if no event is chained. */
  findAuditHead(): Promise<AuditHead | undefined>
  /** Chains at most `limit` events that are not yet, oldest first. Resolves to whether there were any. */
  chainAuditEvents(limit: number, now: number): Promise<boolean>
  /** The answer of the idempotency record with this digest, if it was made after this time. */
  findSealedAnswer(digest: string, madeAfter: number): Promise<string | undefined>
}

/** What an operator was told. `id`: what it is about, and since when. */
export interface Warning {
  readonly id: string
  readonly name: string
  readonly detail: string
}

/** Operators and the digests of their credentials. Nothing is cached: a revocation takes effect with the next request. */
export interface Operators {
  findOperator(name: string): Promise<Operator | undefined>
  /** Oldest first. */
  listOperators(): Promise<Operator[]>
  /** Also finds expired and revoked keys. */
  findAdminKey(digest: string): Promise<PresentedCredential | undefined>
  /** Also finds sessions that are over. */
  findSession(digest: string): Promise<PresentedCredential | undefined>
  /** Finds an unused login code, even if it has expired. */
  findLoginCode(digest: string): Promise<{ operator: string; createdAt: number; endsAt: number } | undefined>
  /** Updates when a key was last used, unless a later use is stored. */
  recordAdminKeyUse(id: number, at: number): Promise<void>
  /** Extends a session, unless a later use is stored. */
  recordSessionUse(use: Pick<Session, 'id' | 'lastSeenAt' | 'endsAt'>): Promise<void>
  /** Records why the last sign-in with the identity provider gave no role. */
  recordRefusedSignIn(at: number, why: string): Promise<void>
}

/** The operator who owns a key or session, and the id of that key or session. */
export interface PresentedCredential {
  readonly operator: Operator
  readonly id: number
}

export interface Tokens {
  /** Whether so many tokens and revocations wait to be written that further ones should wait, too. */
  isBusy(): boolean
  /**
   * Adds a token; with `state`, only if the registry is still in that state. Resolves to false if it was not. Rejects if the id
   * is taken.
   */
  addToken(token: StoredToken, state?: RegistryState): Promise<boolean>
  /** All that a check needs in one call, which may be a round trip over the network. */
  findToken(id: Buffer): Promise<FoundToken | undefined>
  /** Keeps the time of an earlier revocation. Either way, the revocation is durable when this resolves. */
  revokeToken(id: Buffer, at: number): Promise<void>
}

/** Token counts, last uses, and what applications and suites did, as reported by all processes: for operators to see, and for quotas. */
export interface Usage {
  /** Adds all or none. Resolves to the sums, in the order of the changes. */
  addTokenCounts(changes: readonly TokenUse[]): Promise<TokenCount[]>
  /** For each of the applications: its counts in this hour, and when it last got a token, in any hour. */
  listTokenCounts(applicationKeys: readonly ApplicationKey[], hour: number): Promise<TokenUse[]>
  /** Skips secrets that are gone or have a later use. */
  recordSecretUses(uses: readonly SecretUse[]): Promise<void>
  /** Secrets that were never used are left out. */
  listSecretUses(secretIds: readonly number[]): Promise<SecretUse[]>
  /** Adds to the counts of the spans at this time, each client once. Skips clients that are not registered. */
  addUsage(counts: readonly ClientCounts[], at: number): Promise<void>
  /** The counts of these clients in the spans that began at these times, oldest first. Spans without counts are left out. */
  listUsage(clientIds: readonly string[], span: number, beginnings: readonly number[]): Promise<SpanCounts[]>
  /** The sums of these spans for each application of a step of `listNames` that did anything. Reads the keys in between, too. */
  sumUsage(keys: readonly ApplicationKey[], span: number, beginnings: readonly number[]): Promise<KeyCounts[]>
  /** The client ids of applications that got more than `tokens` tokens in a clock hour that began at `since` or later. */
  listBusy(since: number, tokens: number): Promise<string[]>
}

/** The last refusals, as reported by all processes: for operators to see. */
export interface Refusals {
  /** A row counts refusals with equal client, reason, endpoint, suite and address. Keeps MAX_REFUSALS; skips removed clients. */
  recordRefusals(refusals: readonly RefusalCount[]): Promise<void>
  /** Newest first. `clientId` is abbreviated if it is not registered; undefined means all that are not registered. */
  listRefusals(clientId: string | undefined): Promise<RefusalCount[]>
  /** The last refusals of applications and suites, newest first. */
  listLastRefused(limit: number): Promise<RefusedClient[]>
  /** Keeps the newest MAX_REFUSED_REQUESTS of registered clients, and of others. */
  recordRefusedRequests(requests: readonly NewRefusedRequest[]): Promise<void>
  /** Newest first. */
  listRefusedRequests(filter: RefusedRequestFilter): Promise<RefusedRequest[]>
  /** How many there are for each reason, most first. */
  countRefusedRequests(filter: Omit<RefusedRequestFilter, 'limit'>): Promise<[reason: string, count: number][]>
}

export interface Figures {
  measure(now: number): Promise<StoreFigures>
  /**
   * Suites, and applications that are not suspended, that lose a secret before that time, earliest first: of the active ones that
   * they used within a day the first to end, or else the one used last, or else the last to end. This includes all that `measure`
   * counts, and those that still use an old secret.
   */
  listEndingSecrets(now: number, before: number, limit: number): Promise<EndingSecret[]>
  /**
   * Counts the tokens from this id on, except revoked ones and those of suspended applications, without blocking requests.
   * Undefined if that requires reading more than `limit` tokens.
   */
  countLiveTokens(fromId: Buffer, limit: number): Promise<number | undefined>
}

/** The notices that wait, those of the last days, and those of matters that are not over. */
export interface Notices {
  /** Without what they say: the bodies are `{}`. */
  listNotices(): Promise<Notice[]>
  /**
   * Makes the changes that `decide` returns for the stored notices; one process at a time. It may be called again. Rejects with
   * OperatorError once the store has moved: the server of the new one posts them.
   */
  updateNotices(decide: (stored: readonly Notice[]) => NoticeChanges): Promise<void>
}

/** The issuers whose keys verify federated credentials that are active at a time, by name. */
export interface Issuers {
  findIssuer(issuer: string, at: number): Promise<Issuer | undefined>
  listIssuers(at: number): Promise<Issuer[]>
  /** Resolves to true for one process a minute, which then fetches the keys. */
  beginFetch(issuer: string, at: number): Promise<boolean>
  /** Without keys, the earlier ones stay. */
  endFetch(
    issuer: string,
    fetched: { at: number; keys: readonly PublicKey[] | null; problem: string | null },
  ): Promise<void>
}

export interface StoreFigures {
  /** Bytes on disk. `log` is the write-ahead log; undefined if it is on another server. */
  readonly size: { readonly database: number; readonly log: number | undefined }
  /** When the oldest stored token was issued; undefined if there is none. */
  readonly oldestTokenAt: number | undefined
  /** When `token-server backup` last made a backup; undefined if never, and on PostgreSQL. */
  readonly lastBackupAt: number | undefined
  readonly auditHead: AuditHead | undefined
  /** How many suites, and applications that are not suspended, have an active secret now but none a day or a week later. */
  readonly ending: { readonly inADay: number; readonly inAWeek: number }
}

/** An application as a process last read it, and the state of the registry then, which is opaque outside of its store. */
export interface Recalled {
  readonly application: Application
  readonly state: RegistryState
}

export type RegistryState = object

/** The servers that share a store. */
export interface Nodes {
  /** Stores a node's report. Deletes nodes that have not reported for a day, and earlier runs with the same name. */
  record(node: ServerNode): Promise<void>
  /** The most recently seen first. */
  list(limit: number): Promise<ServerNode[]>
  remove(id: string): Promise<void>
}

/** At most `limit` rows of a list: the first ones, or those that follow the row with the key `after`. */
export interface Page<RowKey> {
  readonly after?: RowKey | undefined
  readonly limit: number
}

export interface FoundToken {
  readonly stored: StoredToken
  /** Undefined if it was removed. */
  readonly application: Application | undefined
}

export interface NewClients {
  readonly suites: readonly NewSuite[]
  readonly applications: readonly NewApplication[]
}

/** The store is full, locked or gone. The `cause` has the details. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** The clocks of this machine and the store differ. The message says by how much, and what to do. */
export class ClocksDiffer extends StoreUnavailable {}
