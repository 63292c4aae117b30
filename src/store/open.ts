import type { Audit } from '../domain/audit-event.ts'
import type { DatabaseLocation, PostgresLocation, SqliteLocation } from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Clock } from '../domain/time.ts'
import type { Copied, CopyOptions } from './copy.ts'
import type { Inspector, StoreFiles } from './inspect.ts'
import {
  type BackupTarget,
  type CopyContents,
  NoStore,
  type Opened,
  type OpenOptions,
  type Restored,
  type RestoreOptions,
} from './opened.ts'
import type { Previous } from './previous.ts'

/**
 * Opens the store at a location and migrates it to this program's version. Throws StoreUnavailable where it cannot be
 * opened, and OperatorError where there is none and none is to be made.
 */
export async function openStore(location: DatabaseLocation, options: OpenOptions): Promise<Opened> {
  switch (location.kind) {
    case 'sqlite': {
      const { openSqlite } = await import('./sqlite/store.ts')
      return openSqlite(location.file, options)
    }
    case 'postgres': {
      const { openPostgres } = await import('./postgres/store.ts')
      return openPostgres(location, options)
    }
  }
}

/**
 * Opens the store that was copied to the present one and may still be in use. Throws StoreUnavailable where it cannot be
 * opened, and OperatorError where there is none, or where it was not copied, or not to the end.
 */
export async function openPrevious(location: SqliteLocation, options: OpenOptions): Promise<Previous> {
  const { openSqlite } = await import('./sqlite/store.ts')
  const store = openExisting()
  if (store.move.isCopied()) return store
  await store.close()
  throw new OperatorError(
    store.movedTo === undefined
      ? `PREVIOUS_DATABASE_URL: ${store.database} was not copied to another database: "token-server store copy" does that.`
      : `PREVIOUS_DATABASE_URL: ${store.database} is being copied to ${store.movedTo}, or that did not end: wait, or copy it again.`,
  )

  function openExisting() {
    try {
      return openSqlite(location.file, { ...options, create: false })
    } catch (error) {
      // Its advice is for a store that may be made.
      throw error instanceof NoStore
        ? new OperatorError(`PREVIOUS_DATABASE_URL: there is no database at ${location.file}.`)
        : error
    }
  }
}

/** Copies a store, which may be in use, to an empty one. Throws OperatorError. */
export async function copyStore(
  from: SqliteLocation,
  to: PostgresLocation,
  { lockTimeout, ...options }: CopyOptions & Pick<OpenOptions, 'lockTimeout'>,
): Promise<Copied> {
  const { openSqlite } = await import('./sqlite/store.ts')
  const { receive } = await import('./postgres/receive.ts')
  const { copy } = await import('./copy.ts')
  const source = openSqlite(from.file, { lockTimeout, create: false })
  return copy(source, () => receive(to), options).finally(() => source.close())
}

/** Makes it possible again to change a store that was copied. Resolves to where that was, if it was. */
export async function reopenStore(
  { file }: SqliteLocation,
  audit: Audit,
  options: OpenOptions,
): Promise<string | undefined> {
  const { openSqlite } = await import('./sqlite/store.ts')
  const store = openSqlite(file, { ...options, create: false })
  return store.move.reopen(audit).finally(() => store.close())
}

/**
 * Makes a copy of the store at a location, which may be in use, as it is at one moment, and notes in the store when that was.
 * Throws OperatorError.
 */
export async function backUpStore(
  location: DatabaseLocation,
  target: BackupTarget,
  { now, ...options }: { withoutTokens: boolean; now: Clock },
): Promise<CopyContents> {
  switch (location.kind) {
    case 'sqlite': {
      const { backUpSqlite } = await import('./sqlite/backup.ts')
      const { recordBackup } = await import('./sqlite/backup.ts')
      const madeAt = now()
      const contents = await backUpSqlite(location.file, target, options)
      await recordBackup(location.file, madeAt)
      return contents
    }
    case 'postgres':
      throw ownTools()
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
    case 'postgres':
      throw ownTools()
  }
}

/** Opens the store at a location to look at it, and changes nothing. Throws StoreUnavailable or OperatorError. */
export async function inspectStore(location: DatabaseLocation): Promise<Inspector> {
  switch (location.kind) {
    case 'sqlite': {
      const { inspectSqlite } = await import('./sqlite/inspect.ts')
      return inspectSqlite(location.file)
    }
    case 'postgres': {
      const { inspectPostgres } = await import('./postgres/inspect.ts')
      return inspectPostgres(location)
    }
  }
}

/** Looks at the files of a store, and opens none. Rejects with the file system's error. */
export async function lookAtStore({ file }: SqliteLocation): Promise<StoreFiles> {
  const { lookAtFiles } = await import('./sqlite/files.ts')
  return lookAtFiles(file)
}

/** The version of the SQLite that the program brings along, whichever store it uses. */
export async function sqliteVersion(): Promise<string> {
  const { libraryVersion } = await import('./sqlite/connection.ts')
  return libraryVersion()
}

function ownTools(): OperatorError {
  return new OperatorError(
    'A store on PostgreSQL is backed up and restored with the tools of PostgreSQL: see docs/operations/postgresql.md.',
  )
}
