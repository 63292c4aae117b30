import {
  chownSync,
  copyFileSync,
  createReadStream,
  createWriteStream,
  existsSync,
  linkSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import Database from 'better-sqlite3'
import type { Authorship } from '../../domain/audit-event.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { BackupContents, Restored, RestoreOptions } from '../opened.ts'
import { databaseEntry, record } from '../shared/audit.ts'
import { inspectBackup, inTemporaryFolder, syncToDisk } from './backup.ts'
import { withDatabase } from './connection.ts'
import { createRunner } from './context.ts'
import { recoverLog } from './disk.ts'
import { isLocked, toOperatorError } from './explain.ts'
import { belongsTo, ignoreMissing, isLogAlone, logSize, prepareFile, resolveLinks, sideFilesOf } from './files.ts'
import { migrate } from './migrate.ts'

/**
 * Replaces a database that is not in use with a backup, and keeps the old one under another name. The last rename
 * switches from the whole old database to the whole new one. Throws OperatorError, whose message says whether
 * that has happened; if not, nothing has changed.
 */
export async function restoreSqlite(
  path: string,
  source: string | AsyncIterable<Uint8Array | string>,
  { revokeAllTokens, now, author }: RestoreOptions,
): Promise<Restored> {
  let restored: Restored | undefined
  let putLogBack: (() => void) | undefined
  try {
    const place = resolveLinks(path)
    if (typeof source === 'string') assertBackup(source, place)
    const isNew = !existsSync(place)
    const aside = nameAside(place, now())
    putLogBack = moveLogAside(place, aside)
    // Creates a missing database, so that it can be locked: no server may create and use a new one in the meantime.
    const database = prepareFile(path, { create: true })
    return await inTemporaryFolder(`${database}.restore-`, async (folder) => {
      const wal = join(folder, 'wal')
      ignoreMissing(() => copyFileSync(`${database}-wal`, wal))
      const lock = lockDatabase(database, join(folder, 'lock.db'))
      try {
        const copy = join(folder, 'copy.db')
        const bytes = typeof source === 'string' ? createReadStream(source) : source
        await pipeline(bytes, createWriteStream(copy, { mode: 0o600 }))
        const audit = { author, at: now() }
        const contents = prepareCopy(copy, { source, database, revokeAllTokens, audit })
        chownSync(copy, statSync(database).uid, -1)
        syncToDisk(copy)
        if (!isNew) moveAside(database, lock ? undefined : wal, aside)
        renameSync(copy, database)
        const replaced = [aside, ...sideFilesOf(aside)].find(existsSync)
        restored = { ...contents, replaced, wasLocked: lock !== undefined }
        syncToDisk(dirname(database))
        return restored
      } finally {
        // Deletes the file only if it was created for the lock.
        if (isNew && !restored && statSync(database, { throwIfNoEntry: false })?.size === 0) rmSync(database)
        lock?.close()
      }
    })
  } catch (error) {
    if (restored) {
      const before = restored.replaced ? ` (the previous database is ${restored.replaced})` : ''
      throw toOperatorError(`Restored${before}, but a later step failed`, error, path)
    }
    putLogBack?.()
    const use = (error as NodeJS.ErrnoException).path === source ? 'read' : undefined
    throw toOperatorError('Nothing was restored', error, path, use)
  }
}

/**
 * Throws OperatorError if the file is the database itself, because reading it would drop the locks of this process, or if
 * it was copied without its write-ahead log.
 */
function assertBackup(file: string, database: string): void {
  if (belongsTo(database, file)) throw new OperatorError(`${file} belongs to the database itself`)
  if (logSize(file) === 0) return
  throw new OperatorError(`a part of ${file} is in ${file}-wal: make a backup of it, with DATABASE_URL=sqlite:${file}`)
}

/** An unused name for the old database, even if two restores begin in the same second. */
function nameAside(database: string, now: number): string {
  const name = `${database}.replaced-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`
  let unused = name
  for (let nth = 2; [unused, ...sideFilesOf(unused)].some(existsSync); nth++) unused = `${name}-${nth}`
  return unused
}

/** Renames a log whose database is missing, which SQLite would delete. Returns a function that undoes that. */
function moveLogAside(database: string, aside: string): (() => void) | undefined {
  if (!isLogAlone(database)) return undefined
  const [[log], [logAside]] = [sideFilesOf(database), sideFilesOf(aside)]
  renameSync(log, logAside)
  return () => renameSync(logAside, log)
}

/**
 * Locks a database until the returned connection is closed. Throws OperatorError if any process has it open. Returns
 * undefined if it is too damaged to be locked; a server that has it open then notices the replacement.
 */
function lockDatabase(database: string, link: string): Database.Database | undefined {
  let db: Database.Database | undefined
  try {
    // Moves the log into the database, so that one rename replaces all of it.
    recoverLog(database)
    // Linked under another name, because a connection that closes deletes the -wal file beside its own file.
    linkSync(database, link)
    db = new Database(link, { fileMustExist: true, timeout: 0 })
    // In exclusive mode SQLite takes the lock that every other connection shares.
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db?.close()
    if (isLocked(error)) {
      throw new OperatorError(`${database} is in use: stop the server, and let no command run`, { cause: error })
    }
    if (error instanceof Database.SqliteError) return undefined
    throw error
  }
}

interface Preparation {
  source: unknown
  /** The path that the copy will get. */
  database: string
  revokeAllTokens: boolean
  audit: Authorship
}

/** Checks and migrates the copy of a backup, and records the restore in it. Errors name the backup. */
function prepareCopy(copy: string, { source, database, revokeAllTokens, audit }: Preparation): BackupContents {
  const file = typeof source === 'string' ? source : undefined
  try {
    const found = inspectBackup(copy)
    withDatabase(copy, {}, (db) => {
      db.pragma('journal_mode = DELETE')
      migrate(db)
      const after = { file: file ?? '-', revoke_all_tokens: revokeAllTokens }
      db.transaction(() => {
        createRunner(db).run(record(audit, [databaseEntry('database restored', database, {}, after)]))
        // A session in the backup may have been ended since.
        db.exec('DELETE FROM sessions; DELETE FROM login_codes; DELETE FROM hand_over_links')
        // Deleted rather than marked as revoked, which would depend on the clock.
        if (revokeAllTokens) db.exec('DELETE FROM tokens')
      })()
    })
    return revokeAllTokens ? { ...found, newestTokenAt: undefined } : found
  } catch (error) {
    throw toOperatorError(`the backup ${file ?? 'from standard input'} cannot be used`, error, copy)
  }
}

/**
 * Gives the old database a second name, which it keeps when it is replaced. `wal` is a copy of the log of a database that SQLite
 * could not read.
 */
function moveAside(database: string, wal: string | undefined, aside: string): void {
  linkSync(database, aside)
  if (wal !== undefined && existsSync(wal)) renameSync(wal, `${aside}-wal`)
  for (const file of sideFilesOf(database)) rmSync(file, { force: true })
  syncToDisk(dirname(database))
}
