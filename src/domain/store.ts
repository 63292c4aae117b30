import type {
  Application,
  ApplicationChanges,
  ApplicationKey,
  ApplicationNames,
  NewApplication,
} from './application.ts'
import type { Audit, AuditEvent, AuditFilter } from './audit-event.ts'
import type { NewAdminKey, NewLoginCode, NewOperator, NewSession, Operator, Session } from './operator.ts'
import type { RefusalCount, RefusedClient } from './refusal.ts'
import type { NewSecret } from './secret.ts'
import type { EndingSecret, ServerNode } from './statistics.ts'
import type { NewSuite, Suite, SuiteChanges, SuiteKey } from './suite.ts'
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
export interface Store extends Registry, AuditTrail, Operators, Tokens, Usage, Refusals, Figures {
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
  /** Resolves soon, also while the disk hangs; the process is to end then. */
  close(): Promise<void>
}

/** What a store could not tidy up, and why: a reader that never ends, an error. */
export interface Backlog {
  readonly bytes: number
  readonly cause: string
}

/**
 * Applications, suites, their secrets, and which application is approved for which suite. Methods with an `audit` parameter
 * write one audit event for each subject that they changed, in the same transaction; none if nothing changed.
 */
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

  /**
   * Adds, in one transaction, the suites and then the applications whose id neither a suite nor an application has (see
   * `skipNamesake`, too). Returns those that were added.
   */
  register(newcomers: Newcomers, audit: Audit): Promise<Newcomers>
  /** Resolves to whether there is such an application; so do the methods that follow. */
  setStatus(clientId: string, status: Application['status'], audit: Audit): Promise<boolean>
  /** Changes those fields that are given. */
  updateApplication(clientId: string, changes: ApplicationChanges, audit: Audit): Promise<boolean>
  /** Removes an application and its secrets. Its tokens stay, without an application, until the purge. */
  removeApplication(clientId: string, audit: Audit): Promise<boolean>
  /** Resolves to whether there is such a suite; so does `removeSuite`. */
  updateSuite(suiteId: string, changes: SuiteChanges, audit: Audit): Promise<boolean>
  /** Removes a suite, its secrets and the approvals for it. */
  removeSuite(suiteId: string, audit: Audit): Promise<boolean>
  /** Approves an application for a suite, or withdraws that. Does nothing where one of them is unknown. */
  approve(clientId: string, suiteId: string, audit: Audit): Promise<void>
  withdraw(clientId: string, suiteId: string, audit: Audit): Promise<void>
  /** Revokes every token of the application by counting up its generation; `at` is kept for people. */
  revokeTokens(clientId: string, at: number, audit: Audit): Promise<boolean>
  /** Adds a secret to an application or a suite. */
  addSecret(owner: string, secret: NewSecret, audit: Audit): Promise<boolean>
  /**
   * Adds a secret to an application or a suite, ends its others no later than `endOthersAt`, and deletes those that ended
   * before `deleteEndedBefore`.
   */
  rotateSecret(
    owner: string,
    secret: NewSecret,
    endOthersAt: number,
    deleteEndedBefore: number,
    audit: Audit,
  ): Promise<boolean>
  /** Marks one secret of an application or a suite as revoked and ends it, both at this time unless it was earlier. */
  revokeSecret(owner: string, secretId: number, at: number, audit: Audit): Promise<boolean>
  /** As `revokeSecret`, but only if another secret of the owner is active at this time. Resolves to whether it was revoked. */
  revokeSpareSecret(owner: string, secretId: number, at: number, audit: Audit): Promise<boolean>
}

export interface AuditTrail {
  /** Newest first. */
  listAuditEvents(filter: AuditFilter): Promise<AuditEvent[]>
  /** The sealed answer of the idempotency record with this digest, if it was made after this time. */
  findSealedAnswer(digest: string, madeAfter: number): Promise<string | undefined>
  /** Deletes at most `limit` idempotency records older than this time, oldest first. Resolves to their number. */
  purgeIdempotencyRecords(before: number, limit: number): Promise<number>
  /** Deletes at most `limit` events older than this time, oldest first. Resolves to their number. */
  purgeAuditEvents(before: number, limit: number): Promise<number>
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

  /** Resolves to false if the name is taken. */
  addOperator(operator: NewOperator, audit: Audit): Promise<boolean>
  /** Resolves to whether there was such an operator. */
  removeOperator(name: string, audit: Audit): Promise<boolean>
  /** Resolves to the id of the key, or to undefined if there is no such operator. */
  addAdminKey(name: string, key: NewAdminKey, audit: Audit): Promise<number | undefined>
  /** Marks a key of an operator as revoked at this time unless it was earlier. Resolves to whether there is such a key. */
  revokeAdminKey(name: string, id: number, at: number, audit: Audit): Promise<boolean>
  /** Resolves to whether there is such an operator. */
  addLoginCode(name: string, code: NewLoginCode, audit: Audit): Promise<boolean>
  /** Uses up a login code. Resolves to the id of the session, or to undefined if the code is unknown or was used. */
  beginSession(name: string, codeDigest: string, session: NewSession, audit: Audit): Promise<number | undefined>
  /** Ends a session of an operator. Resolves to whether there was such a session. */
  endSession(name: string, id: number, audit: Audit): Promise<boolean>

  /** Updates when a key was last used, unless a later use is stored. Shown to people only. */
  recordAdminKeyUse(id: number, at: number): Promise<void>
  /** Extends a session, unless a later use is stored. */
  recordSessionUse(use: Pick<Session, 'id' | 'lastSeenAt' | 'endsAt'>): Promise<void>
  /** Deletes expired login codes and sessions that are over: see `isOver`. */
  purgeSignIns(now: number): Promise<void>
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
  /**
   * Deletes at most `limit` tokens with an id before this one, oldest first. Resolves to how many. `findToken` may still
   * find one that it found before: the purge deletes expired tokens, which are inactive either way.
   */
  purgeTokens(beforeId: Buffer, limit: number): Promise<number>
}

/** What was used and how often, as far as the processes have told: for people, and for quotas. */
export interface Usage {
  /** Adds to the counts of applications and hours, all or none. Resolves to the sums, in their order. */
  addTokenCounts(changes: readonly TokenCountChange[]): Promise<TokenCount[]>
  /** How many tokens an application was issued in an hour. */
  countTokens(applicationKey: ApplicationKey, hour: number): Promise<number>
  /** The counts of these applications in these hours; hours without any are left out. */
  listTokenCounts(applicationKeys: readonly ApplicationKey[], hours: readonly number[]): Promise<TokenCount[]>
  /** When these applications last got a token; those that never did are left out. */
  listApplicationUses(applicationKeys: readonly ApplicationKey[]): Promise<ApplicationUse[]>
  /** When an application last got a token; undefined: never yet. */
  lastTokenAt(applicationKey: ApplicationKey): Promise<number | undefined>
  /** Records when secrets were used, but for those that are gone or of which a later use is known. */
  recordSecretUses(uses: readonly SecretUse[]): Promise<void>
  /** The last use of these secrets; those that were never used are left out. */
  listSecretUses(secretIds: readonly number[]): Promise<SecretUse[]>
  /** Deletes at most `limit` counts of hours before this one, oldest first. Resolves to how many. */
  purgeTokenCounts(beforeHour: number, limit: number): Promise<number>
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
  /** Deletes at most `limit` that happened last before this time, oldest first. Resolves to how many. */
  purgeRefusals(before: number, limit: number): Promise<number>
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
