import type { Clock } from '../domain/clock.ts'
import type { DatabaseLocation, Store } from '../domain/store.ts'

/** What opening a store did to its schema: its version before and after. */
export interface Migrated {
  migrated: { from: number; to: number }
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
}

export interface Restored extends CopyContents {
  /** Where that is what the backup has replaced; undefined: there was nothing. */
  replaced: string | undefined
  /** Whether it was certain that nobody used what was replaced. */
  wasLocked: boolean
}

/**
 * Opens the store at a location and migrates it to this program's version. `lockTimeout`, in milliseconds: how long a call
 * waits for another process's lock. Throws StoreUnavailable where it cannot be opened.
 */
export async function openStore(
  location: DatabaseLocation,
  { lockTimeout }: { lockTimeout: number },
): Promise<Store & Migrated> {
  switch (location.kind) {
    case 'sqlite': {
      const { openSqlite } = await import('./sqlite/store.ts')
      return openSqlite(location.file, { lockTimeout })
    }
  }
}

/** Makes a copy of the store at a location, which may be in use, as it is at one moment. Throws OperatorError. */
export async function backUpStore(
  location: DatabaseLocation,
  target: BackupTarget,
  options: { withoutTokens: boolean },
): Promise<CopyContents> {
  switch (location.kind) {
    case 'sqlite': {
      const { backUpSqlite } = await import('./sqlite/backup.ts')
      return backUpSqlite(location.file, target, options)
    }
  }
}

/** Puts a copy in the place of the store at a location, which nobody may be using. Throws OperatorError. */
export async function restoreStore(
  location: DatabaseLocation,
  source: string | AsyncIterable<Uint8Array | string>,
  options: RestoreOptions,
): Promise<Restored> {
  switch (location.kind) {
    case 'sqlite': {
      const { restoreSqlite } = await import('./sqlite/restore.ts')
      return restoreSqlite(location.file, source, options)
    }
  }
}
