import { closeSync, createReadStream, fsyncSync, mkdtempSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import type { AuditHead } from '../../domain/audit-chain.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { readMigrations } from '../migrations.ts'
import type { BackupContents, BackupTarget } from '../opened.ts'
import { findAuditHead } from '../shared/statements/audit.ts'
import { newestTokenAt } from '../shared/statements/figures.ts'
import { countApplications } from '../shared/statements/registry.ts'
import { withDatabase } from './connection.ts'
import { isExpected, toOperatorError } from './explain.ts'
import { assertNotMissing, belongsTo, isUnsound, resolveLinks } from './files.ts'
import { MIGRATIONS, versionOf } from './migrate.ts'
import { openSqlite } from './store.ts'

/** How long a backup waits for a process that is opening or closing the database, in milliseconds. */
const LOCK_TIMEOUT_MS = 10_000

/**
 * Copies a database, which may be in use, as of one moment. The connection is read-only and migrates nothing. A target
 * file appears, or replaces an earlier one, when it is complete and on disk; for other targets the copy is first written
 * beside the database. Throws OperatorError.
 */
export async function backUpSqlite(
  path: string,
  target: BackupTarget,
  { withoutTokens }: { withoutTokens: boolean },
): Promise<BackupContents> {
  const database = locate(path)
  const neighbour = typeof target === 'string' ? resolve(target) : path
  try {
    if (typeof target === 'string') assertReplaceable(target, database)
    const { contents, stream } = await inTemporaryFolder(`${neighbour}.partial-`, async (folder) => {
      const copy = join(folder, 'copy.db')
      // SQLite writes into an existing empty file and keeps its permissions.
      closeSync(openSync(copy, 'wx', 0o600))
      withDatabase(path, { readonly: true, timeout: LOCK_TIMEOUT_MS }, (db) => {
        // Both ways use one read transaction. SQLite's incremental backup would restart at every commit of another process.
        if (withoutTokens) copyRegistry(db, copy)
        else db.prepare('VACUUM INTO ?').run(copy)
      })
      const contents = inspectBackup(copy)
      if (typeof target !== 'string') return { contents, stream: createReadStream('', { fd: openSync(copy, 'r') }) }
      syncToDisk(copy)
      renameSync(copy, target)
      syncToDisk(dirname(neighbour))
      return { contents }
    })
    // The file is already deleted, so nothing is left behind, however this ends.
    if (stream && typeof target !== 'string') for await (const chunk of stream) await target(chunk)
    return contents
  } catch (error) {
    const use = typeof target === 'string' ? 'write to' : undefined
    throw toOperatorError(`The database ${path} could not be backed up`, error, neighbour, use)
  }
}

function locate(path: string): string {
  try {
    const file = resolveLinks(path)
    assertNotMissing(file)
    if (statSync(file, { throwIfNoEntry: false })) return file
  } catch (error) {
    throw toOperatorError(`The database ${path} could not be backed up`, error, path)
  }
  throw new OperatorError(`There is no database at ${path}.`)
}

/** A backup may replace an earlier one, but not a device or the database. */
function assertReplaceable(target: string, database: string): void {
  const existing = statSync(target, { throwIfNoEntry: false })
  if (existing === undefined) return
  if (!existing.isFile()) throw new OperatorError(`${target} is not a file.`)
  if (belongsTo(database, target)) {
    throw new OperatorError(`${target} belongs to the database itself: name another file.`)
  }
}

const listSchema = `
  SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'`

/** Copies all rows except the tokens, which may be gigabytes. */
function copyRegistry(source: Database, file: string): void {
  withDatabase(file, {}, (copy) => {
    copy.pragma('foreign_keys = OFF')
    const copyAll = copy.transaction(() => {
      const schema = source.prepare(listSchema).all() as { type: string; name: string; sql: string }[]
      const { tables = [], others = [] } = Object.groupBy(schema, ({ type }) =>
        type === 'table' ? 'tables' : 'others',
      )
      for (const table of tables) copy.exec(table.sql)
      // `sqlite_sequence` records which keys were used, so that none is used twice.
      const names = [...tables.map(({ name }) => name), 'sqlite_sequence']
      for (const name of names.filter((name) => name !== 'tokens')) copyRows(source, copy, name)
      // Indexes and triggers come last: the copied rows must not fire them.
      for (const other of others) copy.exec(other.sql)
      copy.pragma(`user_version = ${versionOf(source)}`)
    })
    source.transaction(copyAll)()
  })
}

function copyRows(source: Database, copy: Database, table: string): void {
  const rows = source.prepare(`SELECT * FROM "${table}"`).raw().safeIntegers()
  const insert = copy.prepare(`INSERT INTO "${table}" VALUES (${rows.columns().map(() => '?')})`)
  if (table === 'sqlite_sequence') copy.exec('DELETE FROM sqlite_sequence')
  for (const row of rows.iterate()) insert.run(row)
}

/** Describes a backup. Throws OperatorError if it is damaged or was made by another program. */
export function inspectBackup(file: string): BackupContents {
  const bytes = statSync(file).size
  if (bytes === 0) throw new OperatorError('it is empty')
  return withDatabase(file, { readonly: true }, (db) => {
    const problem = db.pragma('integrity_check(1)', { simple: true })
    if (problem !== 'ok') throw new OperatorError(`it is damaged: ${problem}`)
    if (versionOf(db) === 0) throw new OperatorError('it is not a database of this program')
    return {
      bytes,
      applications: db.prepare(countApplications).pluck().get() as number,
      newestTokenAt: db.prepare(newestTokenAt).pluck().get() as number | undefined,
      auditHead: isCurrent(db) ? (db.prepare(findAuditHead).get() as AuditHead | undefined) : undefined,
    }
  })
}

function isCurrent(db: Database): boolean {
  return versionOf(db) >= readMigrations(MIGRATIONS).length
}

/** Calls `work` with a new folder that only its owner can read, and deletes the folder afterwards. */
export async function inTemporaryFolder<Result>(
  prefix: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(prefix)
  return work(folder).finally(() => rmSync(folder, { recursive: true }))
}

/** Waits until a file, or the entries of a folder, are on disk. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** How long recording a backup waits for a lock. */
const RECORD_LOCK_TIMEOUT_MS = 2000

/**
 * Records in a database, if possible, when a backup of it was made. Skips a database that opening would change further, by a
 * migration or by recovery from a failed fsync.
 */
export async function recordBackup(path: string, madeAt: number): Promise<void> {
  try {
    const file = resolveLinks(path)
    if (isUnsound(file)) return
    if (!withDatabase(file, { readonly: true }, isCurrent)) return
    const store = openSqlite(file, { lockTimeout: RECORD_LOCK_TIMEOUT_MS, create: false })
    await store.recordBackup(madeAt).finally(store.close)
  } catch (error) {
    if (!isExpected(error) && !(error instanceof StoreUnavailable)) throw error
  }
}
