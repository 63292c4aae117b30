import type { Author } from '../domain/audit-event.ts'
import type { Observer } from '../domain/events.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Store } from '../domain/store.ts'
import type { Clock } from '../domain/time.ts'

export interface OpenOptions {
  /** How long a call waits for another process's lock, without blocking. Milliseconds. */
  lockTimeout: number
  /** Whether a store is made where there is none; true by default. */
  create?: boolean
  /**
   * Whether all that it has is brought to the disk first, unless another process uses it; false by default. For the first
   * process of a server. Where an fsync has failed it is always done, and refused where another process uses the store.
   */
  recover?: boolean
  /** Is told what is measured, and when the connection to the store is lost and found again; nobody by default. */
  observe?: Observer
}

/** An open store, and what opening it did. */
export interface Opened extends Store {
  /** Its place, for the log: the path of a file, or a URL without user and password. */
  database: string
  /** The version of its schema before and after. */
  migrated: { from: number; to: number }
  /** Where it was copied to, for people; undefined: it was not. Its registry does not change any more. */
  movedTo?: string | undefined
  /** The place of the store that is asked for tokens, too; undefined: there is none. */
  previous?: string
}

/** What a backup has in it. */
export interface CopyContents {
  bytes: number
  applications: number
  /** When its newest token was issued, in milliseconds since the epoch; undefined: there is none. */
  newestTokenAt: number | undefined
}

/** The name of a file, or what takes the backup piece by piece. */
export type BackupTarget = string | ((chunk: Uint8Array) => Promise<void>)

export interface RestoreOptions {
  revokeAllTokens: boolean
  now: Clock
  author: Author
}

export interface Restored extends CopyContents {
  /** Where that is what the backup has replaced; undefined: there was nothing. */
  replaced: string | undefined
  /** Whether it was certain that nobody used what was replaced. */
  wasLocked: boolean
}

/** There is no store where one is named, and none is to be made. `what` is a sentence that says so, without its end. */
export class NoStore extends OperatorError {
  constructor(what: string) {
    // The first thought is to make one: beside a store that is only misnamed or lost that would hide what happened.
    const should = 'If there should be a store, DATABASE_URL or the working directory is wrong, or it is gone'
    const make = '`token-server serve`, `token-server migrate`, and `register` and `operators add` with --create'
    super(`${what}. ${should}: put it back, or restore a backup. Only where there never was one: ${make} make it.`)
  }
}

const connections: object[] = []

/**
 * Keeps a connection from being closed before the process ends, also by the garbage collector. The last one that is closed
 * makes a checkpoint: it would wait for a disk that hangs, or build on what a disk that failed does not have.
 */
export function leaveOpen(connection: object): void {
  connections.push(connection)
}

/** Whether this process has to end without an orderly exit, at which the driver would close what was left open. */
export function isAnyLeftOpen(): boolean {
  return connections.length > 0
}
