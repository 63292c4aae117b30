import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  type Stats,
  statSync,
} from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import type { LookedAt, StoreFiles } from '../inspect.ts'
import { NoStore } from '../opened.ts'

/** A file of an open database, and which one it was when it was opened. */
export interface DatabaseFile {
  file: string
  inode: number | undefined
}

/** The files that SQLite keeps beside a database while it is open: the write-ahead log, and the index of it. */
export function sideFilesOf(file: string): [wal: string, shm: string] {
  return [`${file}-wal`, `${file}-shm`]
}

/** The files of an open database; none where it is in memory. */
export function filesOf({ name, memory }: Database): DatabaseFile[] {
  return memory ? [] : [name, ...sideFilesOf(name)].map(fileNow)
}

/** A file as it is now. */
export function fileNow(file: string): DatabaseFile {
  return { file, inode: look(file)?.ino }
}

/**
 * Throws StoreUnavailable when one of these files was removed or replaced, cannot be seen, or is marked as unsound. SQLite
 * would go on with removed ones: what it commits would be lost, and what others commit would not be seen. One system call
 * per file.
 */
export function assertFilesUnchanged(files: DatabaseFile[]): void {
  for (const { file, inode } of files) {
    const stat = look(file)
    if (stat?.ino !== inode) throw new StoreUnavailable(`the file ${file} was removed or replaced`)
    if (stat !== undefined && isMarked(stat)) throw unsound()
  }
}

/**
 * The mark of a database whose disk failed (disk.ts has what it is for), on its write-ahead log. It is the sticky bit:
 * for a file that has no meaning, and no file system gives it to one by itself.
 */
export const MARK = 0o1000

/** Whether the log of a database is marked. Throws StoreUnavailable where it cannot be seen. */
export function isUnsound(file: string): boolean {
  const stat = look(sideFilesOf(file)[0])
  return stat !== undefined && isMarked(stat)
}

function isMarked({ mode }: Stats): boolean {
  return (mode & MARK) !== 0
}

/** What is said where another process has marked the database. */
export function unsound(): StoreUnavailable {
  const mend = 'end every process that has the database open, then start the server'
  return new StoreUnavailable(`an fsync has failed in another process: ${mend}`)
}

/** Whether this is a file, and one of this database, by whatever name. */
export function belongsTo(database: string, file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return false
  return [database, ...sideFilesOf(database)].some((name) => {
    const own = statSync(name, { throwIfNoEntry: false })
    return own?.ino === stat.ino && own.dev === stat.dev
  })
}

/** The size of a database, in bytes; 0: it is in memory. Throws StoreUnavailable where it cannot be seen. */
export function databaseSize(file: string): number {
  return look(file)?.size ?? 0
}

/** The size of a database's log, in bytes; 0: there is none. Throws StoreUnavailable where it cannot be seen. */
export function logSize(file: string): number {
  return look(sideFilesOf(file)[0])?.size ?? 0
}

/** A folder without permission and an I/O error are no bugs of this program. */
function look(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch (cause) {
    throw new StoreUnavailable(`the file ${file} cannot be seen: ${(cause as Error).message}`, { cause })
  }
}

/** Looks at the files of a database, and opens none. Rejects with the file system's error. */
export async function lookAtFiles(path: string): Promise<StoreFiles> {
  const file = await realpath(path).catch(() => resolve(path))
  const [wal, shm] = sideFilesOf(file)
  const [folder, database, log, index] = await Promise.all([dirname(file), file, wal, shm].map(lookAt))
  return { folder, database, log, index, isUnsound: log !== undefined && (log.mode & MARK) !== 0 }
}

async function lookAt(path: string): Promise<LookedAt | undefined> {
  try {
    const stats = await stat(path)
    const { size, uid, gid, mode } = stats
    return { path, size, uid, gid, mode: mode & 0o7777, isFolder: stats.isDirectory() }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

const { R_OK, W_OK, X_OK } = constants

/** What group and others may do. */
const NOT_THE_OWNER = 0o077

/**
 * Makes sure that the file of a database can be used, and makes it and its folders where there is none, for their owner
 * only. Returns its real path: SQLite keeps the side files beside that, not beside a link to it. Changes nothing that is
 * there: it may be anything. Throws OperatorError where it is no file, or is none and not to be made, or is missing beside
 * its log; or the file system's error.
 */
export function preparePlace(path: string, { create }: { create: boolean }): string {
  assertNotMissing(realPlace(path))
  if (!create && !isDatabase(path)) throw new NoStore(`There is no database at ${resolve(path)}`)
  if (!exists(path)) {
    makeFolder(dirname(resolve(path)))
    closeSync(openSync(path, 'a', 0o600))
  }
  const file = realpathSync(path)
  if (!statSync(file).isFile()) throw new OperatorError('it is not a file.')
  accessSync(file, R_OK | W_OK)
  for (const one of sideFilesOf(file)) ifThere(() => accessSync(one, R_OK | W_OK))
  accessSync(dirname(file), R_OK | W_OK | X_OK)
  return file
}

/** Whether there is a database: an empty file is none yet. */
export function isDatabase(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && !(stat.isFile() && stat.size === 0)
}

/** The real path of a file, also where a link leads to one that there is not. Throws the file system's error. */
export function realPlace(path: string): string {
  if (exists(path)) return realpathSync(path)
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? realPlace(resolve(realpathSync(dirname(path)), readlinkSync(path))) : resolve(path)
}

/**
 * Throws OperatorError where a log is there and its database is not: SQLite would make an empty one and delete the log, with
 * changes that are nowhere else.
 */
export function assertNotMissing(file: string): void {
  if (!isLogAlone(file)) return
  const [log] = sideFilesOf(file)
  throw new OperatorError(`${file} is missing, but its log ${log} is there: put it back, or move the log away.`)
}

/** Whether there is a log with something in it, and its database is missing or empty. */
export function isLogAlone(file: string): boolean {
  return logSize(file) > 0 && !statSync(file, { throwIfNoEntry: false })?.size
}

/**
 * Does something with a side file, if there is one. Not after a look whether there is: another process that closes the
 * database deletes them, between a look and anything. Throws the file system's error.
 */
export function ifThere(action: () => void): void {
  try {
    action()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Not by Node's `recursive`, which never ends under /proc and takes a read-only file system for a missing folder. */
function makeFolder(folder: string): void {
  if (exists(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process that starts at the same time has made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Takes away what others than the owner may do with the files of a database of this program's: they have hashes of secrets,
 * and personal data.
 */
export function tighten(file: string): void {
  for (const one of [file, ...sideFilesOf(file)]) {
    const { mode } = statSync(one, { throwIfNoEntry: false }) ?? { mode: 0 }
    if ((mode & NOT_THE_OWNER) === 0) continue
    try {
      chmodSync(one, mode & 0o7777 & ~NOT_THE_OWNER)
    } catch {
      // Another user's file, which it may give to a group; or a file system without permissions.
    }
  }
}
