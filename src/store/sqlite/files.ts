import { statSync } from 'node:fs'
import type { Database } from 'better-sqlite3'
import { StoreUnavailable } from '../../domain/store.ts'

/** A file of an open database, and which one it was at that time. */
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
  return { file, inode: inodeOf(file) }
}

/**
 * Throws StoreUnavailable when one of these files was removed or replaced. SQLite would go on with the removed ones: what
 * it commits would be lost, and what others commit would not be seen. One system call per file.
 */
export function assertFilesUnchanged(files: DatabaseFile[]): void {
  for (const { file, inode } of files) {
    if (inodeOf(file) !== inode) throw new StoreUnavailable(`the file ${file} was removed or replaced`)
  }
}

function inodeOf(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino
}
