import { closeSync, createReadStream, openSync, renameSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import type { BackupTarget, CopyContents } from '../opened.ts'
import { isExpected } from './connection.ts'
import { inspectCopy, inTemporaryFolder, syncToDisk, withSentence } from './copy.ts'
import { assertNotMissing, belongsTo, isUnsound, realPlace } from './files.ts'
import { isMigrated } from './migrate.ts'
import * as sql from './statements/database.ts'
import { openSqlite } from './store.ts'

/** How long the beginning of a backup waits for a process that is opening or closing the database, in milliseconds. */
const LOCK_TIMEOUT_MS = 10_000

/**
 * Copies a database, which others may be writing to, as it is at one moment. The connection reads only: nothing is
 * migrated, and nothing of the database is written. A file appears under its name when it is whole and on disk, and
 * replaces the one that was there; what goes elsewhere is first written beside the database. Throws OperatorError.
 */
export async function backUpSqlite(
  path: string,
  target: BackupTarget,
  { withoutTokens }: { withoutTokens: boolean },
): Promise<CopyContents> {
  const database = locate(path)
  if (typeof target === 'string') assertReplaceable(target, database)
  const beside = typeof target === 'string' ? resolve(target) : path
  try {
    const { contents, descriptor } = await inTemporaryFolder(`${beside}.partial-`, async (folder) => {
      const copy = join(folder, 'copy.db')
      // SQLite writes into an empty file that exists, and leaves it to its owner only.
      closeSync(openSync(copy, 'wx', 0o600))
      copyDatabase(path, copy, withoutTokens)
      const contents = inspectCopy(copy)
      if (typeof target !== 'string') return { contents, descriptor: openSync(copy, 'r') }
      syncToDisk(copy)
      renameSync(copy, target)
      syncToDisk(dirname(beside))
      return { contents }
    })
    // The file has no name by now, so nothing stays behind however this ends.
    if (typeof target !== 'string') {
      for await (const chunk of createReadStream('', { fd: descriptor as number })) await target(chunk)
    }
    return contents
  } catch (error) {
    throw withSentence(`The database ${path} could not be backed up`, error, beside)
  }
}

/** The real path of a database that there is. */
function locate(path: string): string {
  try {
    const file = realPlace(path)
    assertNotMissing(file)
    if (statSync(file, { throwIfNoEntry: false })) return file
  } catch (error) {
    throw withSentence(`The database ${path} could not be backed up`, error, path)
  }
  throw new OperatorError(`There is no database at ${path}.`)
}

/** A backup takes the place of an earlier one, but not of a device, nor of the database. */
function assertReplaceable(target: string, database: string): void {
  const existing = statSync(target, { throwIfNoEntry: false })
  if (existing === undefined) return
  if (!existing.isFile()) throw new OperatorError(`${target} is not a file.`)
  if (belongsTo(database, target)) {
    throw new OperatorError(`${target} belongs to the database itself: name another file.`)
  }
}

function copyDatabase(path: string, copy: string, withoutTokens: boolean): void {
  const db = new Database(path, { readonly: true, timeout: LOCK_TIMEOUT_MS })
  try {
    // One read transaction. SQLite's backup by steps would begin anew at every commit of another process.
    if (withoutTokens) copyRegistry(db, copy)
    else db.prepare('VACUUM INTO ?').run(copy)
  } finally {
    db.close()
  }
}

/** All rows but the tokens', which may be gigabytes. */
function copyRegistry(source: Database.Database, file: string): void {
  const copy = new Database(file)
  try {
    copy.pragma('foreign_keys = OFF')
    const copyAll = copy.transaction(() => {
      const schema = source.prepare(sql.listSchema).all() as { type: string; name: string; sql: string }[]
      const isTable = ({ type }: { type: string }) => type === 'table'
      for (const table of schema.filter(isTable)) copy.exec(table.sql)
      // The keys that were used are kept too, so that none is used twice.
      const names = [...schema.filter(isTable).map(({ name }) => name), 'sqlite_sequence']
      for (const name of names.filter((name) => name !== 'tokens')) copyRows(source, copy, name)
      // Indexes, and triggers, which the rows are not to set off.
      for (const other of schema.filter((entry) => !isTable(entry))) copy.exec(other.sql)
      copy.pragma(`user_version = ${source.pragma('user_version', { simple: true })}`)
    })
    source.transaction(copyAll)()
  } finally {
    copy.close()
  }
}

function copyRows(source: Database.Database, copy: Database.Database, table: string): void {
  const rows = source.prepare(`SELECT * FROM "${table}"`).raw().safeIntegers()
  const insert = copy.prepare(`INSERT INTO "${table}" VALUES (${rows.columns().map(() => '?')})`)
  if (table === 'sqlite_sequence') copy.exec('DELETE FROM sqlite_sequence')
  for (const row of rows.iterate()) insert.run(row)
}

/** How long others may keep the database locked. Milliseconds. */
const RECORD_LOCK_TIMEOUT_MS = 2000

/**
 * Notes in a database when a backup of it was made. Where that is not possible nothing is noted: the backup is there. Nor is
 * it where opening would do more: migrate the database, or bring to the disk what an fsync has left behind.
 */
export async function recordBackup(path: string, madeAt: number): Promise<void> {
  try {
    const file = realPlace(path)
    if (isUnsound(file) || !isMigrated(file)) return
    const store = openSqlite(file, { lockTimeout: RECORD_LOCK_TIMEOUT_MS, create: false })
    await store.recordBackup(madeAt).finally(store.close)
  } catch (error) {
    if (!isExpected(error) && !(error instanceof StoreUnavailable)) throw error
  }
}
