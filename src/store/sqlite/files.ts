import { type Stats, statSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { Database } from 'better-sqlite3'
import { StoreUnavailable } from '../../domain/store.ts'
import type { LookedAt, StoreFiles } from '../inspect.ts'

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
