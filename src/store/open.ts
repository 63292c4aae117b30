import type { Authorship } from '../domain/audit-event.ts'
import type { DatabaseLocation, PostgresLocation, SqliteLocation } from '../domain/database-location.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Clock } from '../domain/time.ts'
import type { Copied, CopyOptions } from './copy.ts'
import type { Inspector, StoreFiles } from './inspect.ts'
import {
  type BackupContents,
  type BackupTarget,
  explainMissingPrevious,
  type Opened,
  type OpenOptions,
  type Restored,
  type RestoreOptions,
} from './opened.ts'
import type { Previous } from './previous.ts'

// The code and the driver of a kind of database are loaded only if it is used.

/**
 * Opens a store and migrates it to this program's version. Throws StoreUnavailable if it cannot be opened, and
 * OperatorError if it does not exist and may not be created.
 */
export async function openStore(location: DatabaseLocation, options: OpenOptions): Promise<Opened> {
  if (location.kind === 'sqlite') return openSqliteStore(location, options)
  const { openPostgres } = await import('./postgres/store.ts')
  return openPostgres(location, options)
}

async function openSqliteStore({ file }: SqliteLocation, options: OpenOptions) {
  const { openSqlite } = await import('./sqlite/store.ts')
  return openSqlite(file, options)
}

/**
 * Opens the store that was copied to the current one and may still be in use. Throws StoreUnavailable if it cannot be
 * opened, and OperatorError if it does not exist, or was not copied completely.
 */
export async function openPrevious(location: SqliteLocation, options: OpenOptions): Promise<Previous> {
  const opening = openSqliteStore(location, { ...options, create: false })
  const store = await opening.catch((error) => explainMissingPrevious(error, location))
  if (store.move.isCopied()) return store
  await store.close()
  const problem =
    store.movedTo === undefined
      ? 'was not copied to another database: "token-server store copy" does that.'
      : `is being copied to ${store.movedTo}, or that was interrupted: wait, or copy it again.`
  throw new OperatorError(`PREVIOUS_DATABASE_URL: ${store.database} ${problem}`)
}

/** Copies a store, which may be in use, to an empty one. Throws OperatorError. */
export async function copyStore(
  from: SqliteLocation,
  to: PostgresLocation,
  { lockTimeout, ...options }: CopyOptions & Pick<OpenOptions, 'lockTimeout'>,
): Promise<Copied> {
  const { openTarget } = await import('./postgres/target.ts')
  const { copy } = await import('./copy.ts')
  const source = await openSqliteStore(from, { lockTimeout, create: false })
  return copy(source, () => openTarget(to), options).finally(() => source.close())
}

/** Allows changes in a copied store again. Resolves to the location it was copied to; undefined if it was not copied. */
export async function reopenStore(
  location: SqliteLocation,
  audit: Authorship,
  options: OpenOptions,
): Promise<string | undefined> {
  const store = await openSqliteStore(location, { ...options, create: false })
  return store.move.reopen(audit).finally(() => store.close())
}

/** Backs up a store, which may be in use, as of one moment, and records in it when it did so. Throws OperatorError. */
export async function backUpStore(
  location: DatabaseLocation,
  target: BackupTarget,
  { now, ...options }: { withoutTokens: boolean; now: Clock },
): Promise<BackupContents> {
  const file = sqliteFileOf(location)
  const { backUpSqlite, recordBackup } = await import('./sqlite/backup.ts')
  const madeAt = now()
  const contents = await backUpSqlite(file, target, options)
  await recordBackup(file, madeAt)
  return contents
}

/** Replaces the store at a location, which must not be in use, with a backup. Throws OperatorError. */
export async function restoreStore(
  location: DatabaseLocation,
  source: string | AsyncIterable<Uint8Array | string>,
  options: RestoreOptions,
): Promise<Restored> {
  const file = sqliteFileOf(location)
  const { restoreSqlite } = await import('./sqlite/restore.ts')
  return restoreSqlite(file, source, options)
}

function sqliteFileOf(location: DatabaseLocation): string {
  if (location.kind === 'sqlite') return location.file
  throw new OperatorError(
    'A store on PostgreSQL is backed up and restored with the tools of PostgreSQL: see docs/operations/postgresql.md.',
  )
}

/** Opens a read-only view of a store. Throws StoreUnavailable or OperatorError. */
export async function inspectStore(location: DatabaseLocation): Promise<Inspector> {
  if (location.kind === 'postgres') {
    const { inspectPostgres } = await import('./postgres/inspect.ts')
    return inspectPostgres(location)
  }
  const { inspectSqlite } = await import('./sqlite/inspect.ts')
  return inspectSqlite(location.file)
}

/** Describes the files of a store without opening any. Rejects with the file system's error. */
export async function describeStoreFiles({ file }: SqliteLocation): Promise<StoreFiles> {
  const { describeFiles } = await import('./sqlite/files.ts')
  return describeFiles(file)
}

/** The version of the bundled SQLite, whichever store is used. */
export async function sqliteVersion(): Promise<string> {
  const { libraryVersion } = await import('./sqlite/connection.ts')
  return libraryVersion()
}
