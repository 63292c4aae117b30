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
import type { FileInfo, StoreFiles } from '../inspect.ts'
import { StoreMissing } from '../opened.ts'

/** The files that SQLite keeps beside an open database: the write-ahead log and its index. */
export function sideFilesOf(file: string): [wal: string, shm: string] {
  return [`${file}-wal`, `${file}-shm`]
}

/** The files of an open database; none if it is in memory. */
export function filesOf({ name, memory }: Database) {
  return memory ? [] : [name, ...sideFilesOf(name)].map(identify)
}

export function identify(file: string) {
  const stat = statIfVisible(file)
  return { file, inode: stat?.ino, device: stat?.dev }
}

/**
 * Throws StoreUnavailable if one of these files was removed or replaced, is not visible, or is marked as unsound.
 * SQLite would continue with removed files, lose its commits and miss those of others. One system call per file.
 */
export function assertFilesUnchanged(files: ReturnType<typeof identify>[]): void {
  for (const { file, inode, device } of files) {
    const stat = statIfVisible(file)
    if (stat?.ino !== inode || stat?.dev !== device)
      throw new StoreUnavailable(`the file ${file} was removed or replaced`)
    if (stat !== undefined && isMarked(stat)) throw unsoundError()
  }
}

/**
 * The mark of a database whose fsync failed (see disk.ts), on its write-ahead log. It is the sticky bit, which has no
 * meaning for a file and is never set by the file system.
 */
export const MARK = 0o1000

/** Whether the log of a database is marked. Throws StoreUnavailable if it is not visible. */
export function isUnsound(file: string): boolean {
  return isMarked(statIfVisible(sideFilesOf(file)[0]))
}

function isMarked(file: { mode: number } | undefined): boolean {
  return file !== undefined && (file.mode & MARK) !== 0
}

export function unsoundError(): StoreUnavailable {
  const fix = 'end every process that has the database open, then start the server'
  return new StoreUnavailable(`an fsync has failed in another process: ${fix}`)
}

export function belongsTo(database: string, file: string): boolean {
  const stat = statSync(file, { throwIfNoEntry: false })
  if (stat === undefined) return false
  return [database, ...sideFilesOf(database)].some((name) => {
    const own = statSync(name, { throwIfNoEntry: false })
    return own?.ino === stat.ino && own.dev === stat.dev
  })
}

/** The size of a database in bytes; 0 in memory. Throws StoreUnavailable if it is not visible. */
export function databaseSize(file: string): number {
  return statIfVisible(file)?.size ?? 0
}

/** The size of a database's log in bytes; 0 without one. Throws StoreUnavailable if it is not visible. */
export function logSize(file: string): number {
  return databaseSize(sideFilesOf(file)[0])
}

/** Undefined if the file does not exist. Throws StoreUnavailable if a permission is missing, or after an I/O error. */
function statIfVisible(file: string): Stats | undefined {
  try {
    return statSync(file, { throwIfNoEntry: false })
  } catch (cause) {
    throw new StoreUnavailable(`the file ${file} cannot be seen: ${(cause as Error).message}`, { cause })
  }
}

/** Describes the files of a database without opening any. Rejects with the file system's error. */
export async function describeFiles(path: string): Promise<StoreFiles> {
  const file = await realpath(path).catch(() => resolve(path))
  const [wal, shm] = sideFilesOf(file)
  // Read one after another, so that always the first failure is reported.
  const [folder, database, log, index] = await Array.fromAsync([dirname(file), file, wal, shm], describeFile)
  return { folder, database, log, index, isUnsound: isMarked(log) }
}

async function describeFile(path: string): Promise<FileInfo | undefined> {
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

const NOT_THE_OWNER = 0o077

/**
 * Checks that a database's file can be used. Creates a missing file and its folders, for their owner only, and changes
 * nothing that exists. Returns the real path, because SQLite keeps the side files beside that, not beside a link to it.
 * Throws the file system's error, or OperatorError if it is not a file, or is missing and may not be created.
 */
export function prepareFile(path: string, { create }: { create: boolean }): string {
  assertNotMissing(resolveLinks(path))
  if (!create && !isDatabase(path)) throw new StoreMissing(`There is no database at ${resolve(path)}`)
  if (!exists(path)) {
    makeFolder(dirname(resolve(path)))
    closeSync(openSync(path, 'a', 0o600))
  }
  const file = realpathSync(path)
  if (!statSync(file).isFile()) throw new OperatorError('it is not a file.')
  accessSync(file, R_OK | W_OK)
  for (const one of sideFilesOf(file)) ignoreMissing(() => accessSync(one, R_OK | W_OK))
  accessSync(dirname(file), R_OK | W_OK | X_OK)
  return file
}

/** Whether something other than an empty file exists. */
export function isDatabase(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && !(stat.isFile() && stat.size === 0)
}

/** The real path, even of a link to a missing file. Throws the file system's error. */
export function resolveLinks(path: string): string {
  if (exists(path)) return realpathSync(path)
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? resolveLinks(resolve(realpathSync(dirname(path)), readlinkSync(path))) : resolve(path)
}

/** Throws OperatorError if a log exists without its database: SQLite would delete it, and its changes with it. */
export function assertNotMissing(file: string): void {
  if (!isLogAlone(file)) return
  const [log] = sideFilesOf(file)
  throw new OperatorError(`${file} is missing, but its log ${log} is there: put the file back, or move the log away.`)
}

/** Whether there is a log that is not empty, and its database is missing or empty. */
export function isLogAlone(file: string): boolean {
  return logSize(file) > 0 && !statSync(file, { throwIfNoEntry: false })?.size
}

/**
 * Runs an action on a file that may be missing. Checking first would be a race: another process deletes the side files
 * when it closes the database. Throws the file system's other errors.
 */
export function ignoreMissing(action: () => void): void {
  try {
    action()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Does not use Node's `recursive`, which never ends under /proc and mistakes a read-only file system for a missing folder. */
function makeFolder(folder: string): void {
  if (exists(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process may have created it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Removes the permissions of group and others: a database has hashes of secrets, and personal data. */
export function restrictToOwner(file: string): void {
  for (const one of [file, ...sideFilesOf(file)]) {
    const { mode } = statSync(one, { throwIfNoEntry: false }) ?? { mode: 0 }
    if ((mode & NOT_THE_OWNER) === 0) continue
    try {
      chmodSync(one, mode & 0o7777 & ~NOT_THE_OWNER)
    } catch {
      // This is another user's file, which may be shared with a group, or a file system without permissions.
    }
  }
}
