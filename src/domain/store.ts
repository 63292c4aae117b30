import type { Application, NewApplication } from './application.ts'
import type { NewSecret } from './secret.ts'
import type { NewSuite, Suite } from './suite.ts'
import type { StoredToken } from './token.ts'

/**
 * What a store must do. Times are milliseconds since the epoch. Every method rejects with StoreUnavailable when the
 * store cannot be read or written; a change is then not made. A change by another process
 * is seen from the next turn of the event loop on.
 */
export interface Store {
  /** The application of this client id, with its secrets, ended ones included. */
  findApplication(clientId: string): Promise<Application | undefined>
  /** Every application, oldest first. */
  listApplications(): Promise<Application[]>
  /** The suite of this id, with its secrets, ended ones included. */
  findSuite(suiteId: string): Promise<Suite | undefined>
  /** Every suite, oldest first. */
  listSuites(): Promise<Suite[]>
  /**
   * Adds, in one transaction, the suites and then the applications whose id neither a suite nor an application has
   * (and see `uniqueName`). Returns the ones added.
   */
  register(newcomers: Newcomers): Promise<Newcomers>
  /** Returns whether there is such an application; so do the methods that follow. */
  setStatus(clientId: string, status: Application['status']): Promise<boolean>
  /** Removes an application and its secrets. Its tokens are orphans from then on and wait for the purge. */
  removeApplication(clientId: string): Promise<boolean>
  /** Removes a suite, its secrets and the approvals for it. */
  removeSuite(suiteId: string): Promise<boolean>
  /** Approves an application for a suite, or withdraws that. Does nothing where one of them is unknown. */
  approve(clientId: string, suiteId: string): Promise<void>
  withdraw(clientId: string, suiteId: string): Promise<void>
  /** Revokes every token that was issued to the application before this time. */
  revokeTokens(clientId: string, issuedBefore: number): Promise<boolean>
  /**
   * Adds a secret to an application or a suite, ends its others no later than `endOthersAt`, forgets those that ended
   * before `forgetBefore`.
   */
  rotateSecret(owner: string, secret: NewSecret, endOthersAt: number, forgetBefore: number): Promise<boolean>
  /** Ends one secret of an application or a suite at this time, unless it has ended before. */
  endSecret(owner: string, secretId: number, endsAt: number): Promise<boolean>
  /** Whether any application has a secret that an operator brought along. */
  hasImportedSecrets(): Promise<boolean>

  /** Resolves when the token is on disk and would survive a power cut; not before. */
  addToken(token: StoredToken): Promise<void>
  /** A token, and whose it is: all that a check needs in one call, which may be a way over the network and back. */
  findToken(id: Buffer): Promise<FoundToken | undefined>
  /** Marks a token as revoked at this time, if it is not marked yet. Resolves when that is on disk. */
  revokeToken(id: Buffer, at: number): Promise<void>
  /**
   * Deletes at most `limit` tokens with an id before this one, oldest first. Returns how many it deleted. `findToken` may
   * still tell of one that it told of before: expired tokens are purged, and they are no good either way.
   */
  purgeTokens(beforeId: Buffer, limit: number): Promise<number>

  /** Resolves when the store can be read. */
  check(): Promise<void>
  close(): Promise<void>
}

export interface FoundToken {
  stored: StoredToken
  /** Undefined: it was removed. */
  application: Application | undefined
}

export interface Newcomers {
  suites: NewSuite[]
  applications: NewApplication[]
}

/** The store cannot keep its promise now: full, locked, gone. The cause has the detail. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}
