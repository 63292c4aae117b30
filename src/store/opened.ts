import type { AuditHead } from '../domain/audit-chain.ts'
import type { Author } from '../domain/audit-event.ts'
import type { SqliteLocation } from '../domain/database-location.ts'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'

export interface OpenOptions {
  /** How long a call waits for another process's lock, in milliseconds, without blocking. */
  lockTimeout: number
  /** Whether to create the store if there is none; true by default. */
  create?: boolean
  /**
   * Whether to flush the whole store to disk first, unless another process has it open; false by default. Meant for the first
   * process of a server. After a failed fsync this is always done, and opening fails if another process has it open.
   */
  recover?: boolean
  /** Receives durations, and when the connection to the store is lost and restored. */
  observe?: Observer
}

export interface Opened extends Store {
  /** Its location, for the log: the path of a file, or a URL without user and password. */
  database: string
  migrated: { from: number; to: number }
  /** The location it was copied to, for messages; undefined if it was not copied. A copied store's registry is frozen. */
  movedTo?: string | undefined
  /** The settings of the database, as `name=value`, with which a crash or a failover can lose committed changes. */
  riskySettings?: string[]
  /** The location of the previous store that is also searched for tokens, if any. */
  previous?: string
}

export interface BackupContents {
  bytes: number
  applications: number
  /** When its newest token was issued; undefined if it has none. */
  newestTokenAt: number | undefined
  /** Undefined if it has no audit events, or was made by an older program. */
  auditHead: AuditHead | undefined
}

/** The path of a file, or a function that consumes the backup in chunks. */
export type BackupTarget = string | ((chunk: Uint8Array) => Promise<void>)

export interface RestoreOptions {
  revokeAllTokens: boolean
  now: Clock
  author: Author
}

export interface Restored extends BackupContents {
  /** The path of the replaced database; undefined if there was none. */
  replaced: string | undefined
  /** Whether the replaced database could be locked, so that it was certainly not in use. */
  wasLocked: boolean
}

/** The named store does not exist and may not be created. `what` is a sentence about it, without its period. */
export class StoreMissing extends OperatorError {
  constructor(what: string) {
    // The obvious reaction would be to create a store, which would hide that the real one is misnamed or lost.
    const should = 'If there should be one, DATABASE_URL or the working directory is wrong, or the database is lost'
    const make = '`token-server migrate`, or `serve`, `register` or `operators add` with --create'
    super(`${what}. ${should}: put it back, or restore a backup. If there never was one, create it with ${make}.`)
  }
}

/** Throws a better error if the previous store does not exist: StoreMissing advises the operator to create one. */
export function explainMissingPrevious(error: unknown, { file }: SqliteLocation): never {
  if (!(error instanceof StoreMissing)) throw error
  throw new OperatorError(`PREVIOUS_DATABASE_URL: there is no database at ${file}: correct the setting.`)
}

const connections: object[] = []

/**
 * Keeps a connection open, and safe from garbage collection, until the process ends. Closing the last connection makes a
 * checkpoint, which would wait for a hanging disk, or build on data that a failed disk does not have.
 */
export function leaveOpen(connection: object): void {
  connections.push(connection)
}

/** Whether the process must be killed: at a normal exit the driver would close the connections that were left open. */
export function isAnyLeftOpen(): boolean {
  return connections.length > 0
}
