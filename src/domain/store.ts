import type { Application, ApplicationKey, ApplicationNames, NewApplication } from './application.ts'
import type { Audit, AuditEvent, AuditFilter } from './audit-event.ts'
import type { Change, ChangeResult } from './change.ts'
import type { Operator, Session } from './operator.ts'
import type { RefusalCount, RefusedClient } from './refusal.ts'
import type { EndingSecret, ServerNode } from './statistics.ts'
import type { NewSuite, Suite, SuiteKey } from './suite.ts'
import type { StoredToken } from './token.ts'
import type { ApplicationUse, SecretUse, TokenCount, TokenCountChange } from './usage.ts'

/**
 * What a store promises; test/store/conformance/ tests it. Times are milliseconds since the epoch.
 *
 * - A change is durable when its method resolves: it survives a power cut. (Not so a purge, which only tidies up, and usage
 *   and refusals, which are for people.)
 * - A request that begins after a change was answered sees that change, whichever process made it.
 * - A method rejects with StoreUnavailable when the store cannot be read or written. A change is made whole or not at all.
 * - A change waits for some seconds at most. It is refused at once while the store is known not to answer, and where too
 *   many wait. What was refused before the store had begun to write it is never written.
 */
export interface Store extends Registry, Changes, AuditTrail, Operators, Tokens, Usage, Refusals, Figures {
  /** The servers that share the store; undefined on SQLite. */
  readonly nodes: Nodes | undefined
  /** Resolves when the store can be read and, as far as is known, written, and its clock is this process's or near it. */
  ping(): Promise<void>
  /**
   * By how many milliseconds the store's clock is ahead of this process's: negative where it is behind, 0 where it is the
   * same clock, undefined where nobody has looked yet.
   */
  clockOffset(): number | undefined
  /** Tidies up, where what is to be tidied up has become much; resolves to what is left where that was not possible. */
  backlog(): Promise<Backlog | undefined>
  /**
   * Deletes at most `limit` of the rows that are older than this time, oldest first. Resolves to how many. `findToken` may still
   * find a token that it found before: what is purged has expired, and is inactive either way.
   */
  purge(what: Purgeable, before: number, limit: number): Promise<number>
  /** Resolves soon, also while the disk hangs; the process is to end then. */
  close(): Promise<void>
}

/**
 * `token counts`: of the hours before that of the time. `refusals`: by when the last one happened. `sign-ins`: login codes that
 * have expired and sessions that are over at the time (see `isOver`), at most `limit` of each.
 */
export type Purgeable = 'tokens' | 'token counts' | 'refusals' | 'audit events' | 'idempotency records' | 'sign-ins'

/** What a store could not tidy up, and why: a reader that never ends, an error. */
export interface Backlog {
  readonly bytes: number
  readonly cause: string
}

/** Applications, suites, their secrets, and which application is approved for which suite. */
export interface Registry {
  /** The application of this client id, compared byte by byte; with its secrets, expired ones too. */
  findApplication(clientId: string): Promise<Application | undefined>
  /** Some applications, oldest first. */
  listApplications(page: Page<ApplicationKey>): Promise<Application[]>
  /** The applications with these keys, oldest first; unknown keys are skipped. */
  listApplicationsOf(keys: readonly ApplicationKey[]): Promise<Application[]>
  /** The searchable fields of some applications, newest first: much cheaper than whole applications. */
  listNames(page: Page<ApplicationKey>): Promise<ApplicationNames[]>
  /** Every application that has one of these names, oldest first. */
  findNamesakes(names: readonly string[]): Promise<Application[]>
  countApplications(): Promise<number>
  /** Some of the applications that are approved for a suite, oldest first. */
  listApprovedApplications(suiteId: string, page: Page<ApplicationKey>): Promise<Application[]>
  /** Counts, for each of these suites in order, the approved applications; each count stops at `limit`. */
  countApproved(suiteIds: readonly string[], limit: number): Promise<number[]>
  /** The suite of this id, with its secrets, expired ones too. */
  findSuite(suiteId: string): Promise<Suite | undefined>
  /** Some suites, oldest first. */
  listSuites(page: Page<SuiteKey>): Promise<Suite[]>
  /**
   * How many imported secrets the application has that has most, without those that were revoked; 1 at least where any
   * application has one.
   */
  mostImportedSecrets(): Promise<number>
}

/** Changes. Each writes one audit event for each subject that it changed, in the same transaction; none if nothing changed. */
export interface Changes {
  change(change: Change, audit: Audit): Promise<ChangeResult>
  /**
   * Adds, in one transaction, the suites and then the applications whose id neither a suite nor an application has (see
   * `skipNamesake`, too). Returns those that were added.
   */
  register(newcomers: Newcomers, audit: Audit): Promise<Newcomers>
}

export interface AuditTrail {
  /** Newest first. */
  listAuditEvents(filter: AuditFilter): Promise<AuditEvent[]>
  /** The sealed answer of the idempotency record with this digest, if it was made after this time. */
  findSealedAnswer(digest: string, madeAfter: number): Promise<string | undefined>
}

/**
 * Operators and the digests of their credentials. Nothing is cached: what was revoked, ended or removed is refused from the
 * next request on. Removing an operator removes their keys, sessions and login codes.
 */
export interface Operators {
  findOperator(name: string): Promise<Operator | undefined>
  /** Every operator, oldest first. */
  listOperators(): Promise<Operator[]>
  /** The operator with this admin key, even if the key expired or was revoked. */
  findAdminKey(digest: string): Promise<PresentedCredential | undefined>
  /** The operator with this session, even if the session is over. */
  findSession(digest: string): Promise<PresentedCredential | undefined>
  /** An unused login code, even if it expired. */
  findLoginCode(digest: string): Promise<{ operator: string; createdAt: number; endsAt: number } | undefined>

  /** Updates when a key was last used, unless a later use is stored. Shown to people only. */
  recordAdminKeyUse(id: number, at: number): Promise<void>
  /** Extends a session, unless a later use is stored. */
  recordSessionUse(use: Pick<Session, 'id' | 'lastSeenAt' | 'endsAt'>): Promise<void>
}

/** The owner of a key or session, and its id. */
export interface PresentedCredential {
  readonly operator: Operator
  readonly id: number
}

/** Access tokens. */
export interface Tokens {
  /** Rejects where the id is taken, changing nothing. */
  addToken(token: StoredToken): Promise<void>
  /** A token, and whose it is: all that a check needs in one call, which may be a round trip over the network. */
  findToken(id: Buffer): Promise<FoundToken | undefined>
  /** Marks a token as revoked at this time, if it is not marked yet; durable in either case. */
  revokeToken(id: Buffer, at: number): Promise<void>
}

/** What was used and how often, as far as the processes have told: for people, and for quotas. */
export interface Usage {
  /** Adds to the counts of applications and hours, all or none. Resolves to the sums, in their order. */
  addTokenCounts(changes: readonly TokenCountChange[]): Promise<TokenCount[]>
  /** The counts of these applications in these hours; hours without any are left out. */
  listTokenCounts(applicationKeys: readonly ApplicationKey[], hours: readonly number[]): Promise<TokenCount[]>
  /** When these applications last got a token; those that never did are left out. */
  listApplicationUses(applicationKeys: readonly ApplicationKey[]): Promise<ApplicationUse[]>
  /** Records when secrets were used, but for those that are gone or of which a later use is known. */
  recordSecretUses(uses: readonly SecretUse[]): Promise<void>
  /** The last use of these secrets; those that were never used are left out. */
  listSecretUses(secretIds: readonly number[]): Promise<SecretUse[]>
}

/** The last refusals, as far as the processes have told: for people. */
export interface Refusals {
  /**
   * Adds refusals to what is known: those of one client, reason, endpoint, suite and address are one row that counts. Of an
   * application or a suite the newest 20 rows stay, of unknown client ids 100 in all. Those of one that is there no more are
   * left out.
   */
  recordRefusals(refusals: readonly RefusalCount[]): Promise<void>
  /**
   * The last refusals of an application or a suite, newest first. Where the client id is not registered, those of unknown ones that are
   * kept under this text, which is the beginning and the length of one. Undefined: those of all unknown client ids.
   */
  listRefusals(clientId: string | undefined): Promise<RefusalCount[]>
  /** The applications and suites that were refused most recently, at most `limit`, newest first. */
  listLastRefused(limit: number): Promise<RefusedClient[]>
}

/** What is measured of a store from time to time. */
export interface Figures {
  /** What the store takes up on its disk, in bytes. `log`: its write-ahead log; undefined where that is not this server's. */
  size(): Promise<StoreSize>
  /** When the oldest token that is still stored was issued; undefined: there is none. */
  oldestTokenAt(): Promise<number | undefined>
  /** How many applications that are not suspended, and suites, have an active secret now and none at the time `before`. */
  countEndingSecrets(now: number, before: number): Promise<number>
  /** The same applications and suites, with the end of their last active secret; the next to end first. */
  listEndingSecrets(now: number, before: number, limit: number): Promise<EndingSecret[]>
  /**
   * Counts the tokens from this id on that are neither revoked nor of a suspended application. Undefined if more than `limit`
   * tokens would have to be read. Does not block other requests.
   */
  countLiveTokens(fromId: Buffer, limit: number): Promise<number | undefined>
  /** How many tokens all applications were issued in an hour, as far as reported by all processes. */
  countIssued(hour: number): Promise<number>
  /** When the last backup by `token-server backup` was made; undefined: never, and always on PostgreSQL. */
  lastBackupAt(): Promise<number | undefined>
}

/** The servers that share a store. */
export interface Nodes {
  /**
   * Stores a node's report. Deletes nodes that have not reported for a day, and earlier runs of this node: those with its name
   * that have not reported since it started.
   */
  record(node: ServerNode): Promise<void>
  /** The most recently seen first. */
  list(limit: number): Promise<ServerNode[]>
  /** Called when a node shuts down. */
  remove(id: string): Promise<void>
}

export interface StoreSize {
  readonly database: number
  readonly log: number | undefined
}

/** A part of a list: at most `limit` rows, those that follow the row with the key `after`, or the first ones. */
export interface Page<RowKey> {
  readonly after?: RowKey | undefined
  readonly limit: number
}

export interface FoundToken {
  readonly stored: StoredToken
  /** Undefined: it was removed. */
  readonly application: Application | undefined
}

export interface Newcomers {
  readonly suites: readonly NewSuite[]
  readonly applications: readonly NewApplication[]
}

/** The store cannot keep its promises now: full, locked, gone. The cause has the detail. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}
