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
import type { Audit } from '../../domain/audit-event.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import type { CopyContents, Restored, RestoreOptions } from '../opened.ts'
import { databaseEntry, record } from '../shared/audit.ts'
import { createRunner } from './context.ts'
import { inspectCopy, inTemporaryFolder, syncToDisk, withSentence } from './copy.ts'
import { recoverLog } from './disk.ts'
import { belongsTo, ifThere, isLogAlone, logSize, preparePlace, realPlace, sideFilesOf } from './files.ts'
import { migrate } from './migrate.ts'
import { isLocked } from './retry-locked.ts'

/**
 * Puts a copy in the place of a database that nobody uses, and keeps what was there under another name. Until the last
 * rename the old database is in its place, whole; after it the new one is. Throws OperatorError, which says whether that has
 * happened; if not, nothing has changed.
 */
export async function restoreSqlite(
  path: string,
  source: string | AsyncIterable<Uint8Array | string>,
  { revokeAllTokens, now, author }: RestoreOptions,
): Promise<Restored> {
  let restored: Restored | undefined
  let putLogBack: (() => void) | undefined
  try {
    const place = realPlace(path)
    if (typeof source === 'string') assertBackup(source, place)
    const isNew = !existsSync(place)
    const aside = nameAside(place, now())
    putLogBack = moveLogAside(place, aside)
    // Where there was no database, there is something to lock now, so that no server starts on a new one meanwhile.
    const database = preparePlace(path, { create: true })
    return await inTemporaryFolder(`${database}.restore-`, async (folder) => {
      const wal = join(folder, 'wal')
      ifThere(() => copyFileSync(`${database}-wal`, wal))
      const lock = keepOthersOut(database, join(folder, 'lock.db'))
      try {
        const copy = join(folder, 'copy.db')
        const bytes = typeof source === 'string' ? createReadStream(source) : source
        await pipeline(bytes, createWriteStream(copy, { mode: 0o600 }))
        const audit = { author, at: now() }
        const contents = prepare(copy, { source, database, revokeAllTokens, audit })
        chownSync(copy, statSync(database).uid, -1)
        syncToDisk(copy)
        if (!isNew) moveAside(database, lock ? undefined : wal, aside)
        renameSync(copy, database)
        const replaced = [aside, ...sideFilesOf(aside)].find(existsSync)
        restored = { ...contents, replaced, wasLocked: lock !== undefined }
        syncToDisk(dirname(database))
        return restored
      } finally {
        // Only what was made for the lock.
        if (isNew && !restored && statSync(database, { throwIfNoEntry: false })?.size === 0) rmSync(database)
        lock?.close()
      }
    })
  } catch (error) {
    if (restored) {
      const before = restored.replaced ? ` (what was there before is ${restored.replaced})` : ''
      throw withSentence(`Restored${before}, but then something failed`, error, path)
    }
    putLogBack?.()
    throw withSentence('Nothing was restored', error, path)
  }
}

/**
 * Throws OperatorError where this is the database itself, whose locks the reading would drop, or was copied file by file and
 * lacks what is in the other file.
 */
function assertBackup(file: string, database: string): void {
  if (belongsTo(database, file)) throw new OperatorError(`${file} belongs to the database itself`)
  if (logSize(file) === 0) return
  throw new OperatorError(`a part of ${file} is in ${file}-wal: make a backup of it, with DATABASE_URL=sqlite:${file}`)
}

/** The name that what is replaced now gets: one that nothing has yet, also where this is the second time in a second. */
function nameAside(database: string, now: number): string {
  const name = `${database}.replaced-${new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')}`
  let unused = name
  for (let nth = 2; [unused, ...sideFilesOf(unused)].some(existsSync); nth++) unused = `${name}-${nth}`
  return unused
}

/** Gives a log whose database is missing another name: SQLite would delete it. Returns what undoes that. */
function moveLogAside(database: string, aside: string): (() => void) | undefined {
  if (!isLogAlone(database)) return undefined
  const [[log], [logAside]] = [sideFilesOf(database), sideFilesOf(aside)]
  renameSync(log, logAside)
  return () => renameSync(logAside, log)
}

/**
 * Locks a database for as long as the connection that is returned is open. Throws OperatorError where any process has it
 * open. Returns undefined where it is too damaged to be locked; a server that runs then notices that it was replaced.
 */
function keepOthersOut(database: string, link: string): Database.Database | undefined {
  try {
    // What is in the -wal file goes into the database, so that one rename replaces all of it.
    recoverLog(database)
    // By another name, because a connection deletes the -wal file beside its own when it is closed.
    linkSync(database, link)
    return lockedConnection(link)
  } catch (error) {
    if (isLocked(error)) {
      throw new OperatorError(`${database} is in use: stop the server, and let no command run`, { cause: error })
    }
    if (error instanceof Database.SqliteError) return undefined
    throw error
  }
}

/** A connection that nobody can be beside: in exclusive mode it asks for the lock that all others share. */
function lockedConnection(file: string): Database.Database {
  const db = new Database(file, { fileMustExist: true, timeout: 0 })
  try {
    db.pragma('locking_mode = EXCLUSIVE')
    db.exec('BEGIN EXCLUSIVE')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

interface Preparation {
  source: unknown
  /** Where the copy will be moved to. */
  database: string
  revokeAllTokens: boolean
  audit: Audit
}

/** Prepares the copy of a backup. What is wrong with it is said of the backup, by its name. */
function prepare(copy: string, preparation: Preparation): CopyContents {
  try {
    return prepareCopy(copy, preparation)
  } catch (error) {
    const { source } = preparation
    const name = typeof source === 'string' ? source : 'from standard input'
    throw withSentence(`the backup ${name} cannot be used`, error, copy)
  }
}

function prepareCopy(copy: string, { source, database, revokeAllTokens, audit }: Preparation): CopyContents {
  const found = inspectCopy(copy)
  const db = new Database(copy)
  try {
    db.pragma('journal_mode = DELETE')
    migrate(db)
    const after = { file: typeof source === 'string' ? source : '-', revoke_all_tokens: revokeAllTokens }
    db.transaction(() => {
      createRunner(db).run(record(audit, [databaseEntry('database restored', database, {}, after)]))
      // A session in the backup may have been ended since.
      db.exec('DELETE FROM sessions; DELETE FROM login_codes')
      // Not marked as revoked but gone: that needs no clock.
      if (revokeAllTokens) db.exec('DELETE FROM tokens')
    })()
    return revokeAllTokens ? { ...found, newestTokenAt: undefined } : found
  } finally {
    db.close()
  }
}

/**
 * Gives the old database another name. Until it is replaced it has both names. `wal` is the -wal file of one that SQLite could
 * not read, as it was.
 */
function moveAside(database: string, wal: string | undefined, aside: string): void {
  linkSync(database, aside)
  if (wal !== undefined && existsSync(wal)) renameSync(wal, `${aside}-wal`)
  for (const file of sideFilesOf(database)) rmSync(file, { force: true })
  syncToDisk(dirname(database))
}
