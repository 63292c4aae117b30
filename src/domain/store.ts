import type {
  Application,
  ApplicationChanges,
  ApplicationKey,
  ApplicationNames,
  NewApplication,
} from './application.ts'
import type { Audit, AuditEvent, AuditFilter } from './audit-event.ts'
import type { ServerNode } from './node.ts'
import type { NewAdminKey, NewLoginCode, NewOperator, NewSession, Operator, Session } from './operator.ts'
import type { RefusalCount } from './refusal-count.ts'
import type { NewSecret } from './secret.ts'
import type { EndingSecret } from './statistics.ts'
import type { NewSuite, Suite, SuiteChanges, SuiteKey } from './suite.ts'
import type { StoredToken } from './token.ts'
import type { ApplicationUse, SecretUse, TokenCount, TokenCountChange } from './usage.ts'

/**
 * What a store promises; test/store/conformance.ts tests it. Times are milliseconds since the epoch.
 *
 * - A change is durable when its method resolves: it survives a power cut. (Not so a purge, which only tidies up, and usage
 *   and refusals, which are for people.)
 * - A request that begins after a change was answered sees that change, whichever process made it.
 * - A method rejects with StoreUnavailable when the store cannot be read or written. A change is made whole or not at all.
 * - A change waits for some seconds at most. It is refused at once while the store is known not to answer, and where too
 *   many wait. What was refused before the store had begun to write it is never written.
 */
export interface Store extends Registry, AuditTrail, Operators, Tokens, Usage, Refusals, Figures {
  /** The servers that share it; undefined: it is one machine's. */
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
 * Applications, suites, their secrets, and which application is approved for which suite. Each change that an operator makes
 * comes with who makes it. What is another than before is one audit event for each subject, in the same transaction.
 */
export interface Registry {
  /** The application of this client id, compared byte by byte; with its secrets, expired ones too. */
  findApplication(clientId: string): Promise<Application | undefined>
  /** Some applications, oldest first. */
  listApplications(page: Page<ApplicationKey>): Promise<Application[]>
  /** The applications of these keys, oldest first, but for those that were removed. */
  listApplicationsOf(keys: readonly ApplicationKey[]): Promise<Application[]>
  /** What some applications are searched by, newest first: much cheaper than the applications. */
  listNames(page: Page<ApplicationKey>): Promise<ApplicationNames[]>
  /** Every application that has one of these names, oldest first. */
  findNamesakes(names: readonly string[]): Promise<Application[]>
  countApplications(): Promise<number>
  /** Some of the applications that are approved for a suite, oldest first. */
  listApprovedApplications(suiteId: string, page: Page<ApplicationKey>): Promise<Application[]>
  /** How many applications are approved for each of these suites, in their order; of each at most `limit` are counted. */
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
  /** Makes secrets of these applications and suites valid that were stored as not shown yet. A part of the change that stored them. */
  startSecrets(owners: readonly string[]): Promise<void>
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
  /** The same, unless no other secret of its owner would be active at this time. Resolves to whether it was done. */
  revokeSpareSecret(owner: string, secretId: number, at: number, audit: Audit): Promise<boolean>
}

/** Who changed what. */
export interface AuditTrail {
  /** Some events, newest first. */
  listAuditEvents(filter: AuditFilter): Promise<AuditEvent[]>
  /** The answer to a change that was made with this idempotency record, after this time. */
  findSealedAnswer(digest: string, madeAfter: number): Promise<string | undefined>
  /** Deletes at most `limit` idempotency records of before this time, oldest first. Resolves to how many. */
  purgeIdempotencyRecords(before: number, limit: number): Promise<number>
  /** Deletes at most `limit` events of before this time, oldest first. Resolves to how many. */
  purgeAuditEvents(before: number, limit: number): Promise<number>
}

/**
 * Who administers over the network, and what they prove who they are with, by its digest. None of it is cached: what was
 * revoked, ended or removed is refused from the next request on. Where an operator is removed, all that goes with it.
 */
export interface Operators {
  findOperator(name: string): Promise<Operator | undefined>
  /** Every operator, oldest first. */
  listOperators(): Promise<Operator[]>
  /** Whose admin key this is, and which one; expired and revoked ones, too. */
  findAdminKey(digest: string): Promise<Proof | undefined>
  /** Whose session this is, and which one; also one that is over. */
  findSession(digest: string): Promise<Proof | undefined>
  /** Whom a login code lets in that was not used yet; also an expired one. */
  findLoginCode(digest: string): Promise<{ operator: string; createdAt: number; endsAt: number } | undefined>

  /** Resolves to whether the name was free. */
  addOperator(operator: NewOperator, audit: Audit): Promise<boolean>
  /** Resolves to whether there was such an operator. */
  removeOperator(name: string, audit: Audit): Promise<boolean>
  /** Resolves to the id of the key; undefined: there is no such operator. */
  addAdminKey(name: string, key: NewAdminKey, audit: Audit): Promise<number | undefined>
  /** Marks a key of an operator as revoked at this time unless it was earlier. Resolves to whether there is such a key. */
  revokeAdminKey(name: string, id: number, at: number, audit: Audit): Promise<boolean>
  /** Resolves to whether there is such an operator. */
  addLoginCode(name: string, code: NewLoginCode, audit: Audit): Promise<boolean>
  /**
   * Uses up a login code of an operator. Resolves to the id of the session; undefined: the code is unknown, or was used
   * meanwhile.
   */
  beginSession(name: string, codeDigest: string, session: NewSession, audit: Audit): Promise<number | undefined>
  /** Ends a session of an operator. Resolves to whether there was such a session. */
  endSession(name: string, id: number, audit: Audit): Promise<boolean>

  /** Notes when a key was used, where no later use is known. For people. */
  recordAdminKeyUse(id: number, at: number): Promise<void>
  /** Notes when a session was seen, and until when it lasts now, where no later time is known. */
  recordSessionUse(use: Pick<Session, 'id' | 'lastSeenAt' | 'endsAt'>): Promise<void>
  /** Deletes the login codes and sessions that are over at this time: see `isOver`. */
  purgeSignIns(now: number): Promise<void>
}

/** An operator, and the id of the key or session that was presented. */
export interface Proof {
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
  /** The counts of these applications in these hours; where nothing was counted there is none. */
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
  /** Those, with the end of their last active secret; the next one first, at most `limit`. */
  listEndingSecrets(now: number, before: number, limit: number): Promise<EndingSecret[]>
  /**
   * How many tokens with this id or a later one are not revoked, and are those of an application that is not suspended.
   * Undefined: there are more than `limit`, revoked ones too, and they were not counted. Requests are not kept waiting.
   */
  countLiveTokens(fromId: Buffer, limit: number): Promise<number | undefined>
  /** How many tokens were issued in an hour to all applications, as far as the processes have told. */
  countIssued(hour: number): Promise<number>
  /** When the last backup by `token-server backup` was made; undefined: never, and always on PostgreSQL. */
  lastBackupAt(): Promise<number | undefined>
}

/** The servers that share a store, for people. */
export interface Nodes {
  /**
   * Notes how a node is doing. Forgets those that were not seen for a day before, and those of its name that were not seen since
   * it started.
   */
  record(node: ServerNode): Promise<void>
  /** Those that were seen last, the last one first, at most `limit`. */
  list(limit: number): Promise<ServerNode[]>
  /** Forgets one that ends. */
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

/** What is to be registered. */
export interface Newcomers {
  readonly suites: readonly NewSuite[]
  readonly applications: readonly NewApplication[]
}

/** The store cannot keep its promises now: full, locked, gone. The cause has the detail. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}
