import { type Stats, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { StoreUnavailable } from '../../domain/store.ts'

/** With less than this a disk is full: SQLite needs some pages in each of three files. */
const LITTLE_BYTES = 256 * 1024

/** What the file system and SQLite say where the disk may be full: of that and of many other things. */
const MAYBE_FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_CANTOPEN|SQLITE_IOERR)/
const SURELY_FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL)/

/**
 * Why a database cannot be opened, and what to do about it. SQLite alone says `disk I/O error` of a disk that is full as
 * of one that is broken.
 */
export function explain(error: Error & { code?: string; path?: string }, file: string, statfs = statfsSync): string {
  const { code = '', message } = error
  if (code === 'EACCES' || code === 'EPERM') return notAllowed(...nearest(resolve(error.path ?? file)))
  if (code === 'EROFS') return 'its file system is read-only. Mount it writable, or name another place in DATABASE_URL.'
  if (code.startsWith('SQLITE_BUSY')) return 'another program has locked it. End that program.'
  if (MAYBE_FULL.test(code)) {
    const [folder] = nearest(dirname(resolve(file)))
    const { bavail, bsize, files, ffree } = statfs(folder)
    if (files > 0 && ffree === 0) return `the file system of ${folder} has no inode left. Delete some files there.`
    if (SURELY_FULL.test(code) || bavail * bsize < LITTLE_BYTES) {
      return `the disk is full. Free some space on the file system of ${folder}.`
    }
  }
  return code.startsWith('SQLITE_') ? `${message} (${code}).` : `${message}.`
}

function notAllowed(path: string, { uid, mode }: Stats): string {
  const user = process.getuid?.()
  const mend = uid === user ? `Make it writable (chmod u+rwX ${path})` : `Give it to that user (chown ${user} ${path})`
  return (
    `${path} belongs to uid ${uid} (mode ${(mode & 0o777).toString(8)}), and this process, uid ${user}, may not write there. ` +
    `${mend}, or name another place in DATABASE_URL.`
  )
}

/** The path, or the folder nearest to it that there is and that can be seen. */
function nearest(path: string): [path: string, stats: Stats] {
  try {
    return [path, statSync(path)]
  } catch {
    return nearest(dirname(path))
  }
}

/** The delay before a lock that another process has is tried again. */
const RETRY_MS = 2

type SqliteError = InstanceType<typeof Database.SqliteError>

/** Does one thing to the database. Rejects with StoreUnavailable when the database could not; then nothing was done. */
export type RetryLocked = <Result>(action: () => Result) => Promise<Result>

interface Options {
  /** Is told when SQLite could not do something for another reason than a lock. */
  onError: () => void
  /** Is told of an fsync of SQLite's own that failed. */
  distrust: (cause: unknown) => void
}

/**
 * A `RetryLocked` for the database in a file that waits up to `timeout` milliseconds for locks, without blocking the event
 * loop.
 */
export function createRetryLocked(file: string, timeout: number, { onError, distrust }: Options): RetryLocked {
  return async (action) => {
    let deadline: number | undefined
    for (;;) {
      try {
        return action()
      } catch (error) {
        if (!(error instanceof Database.SqliteError)) throw error
        if (!isLocked(error)) onError()
        if (isFsyncFailure(error)) distrust(error)
        deadline ??= performance.now() + timeout
        if (!isLocked(error) || performance.now() >= deadline) throw unavailable(error, file)
      }
      await sleep(RETRY_MS)
    }
  }
}

export function isLocked(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

export function isFsyncFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_IOERR_FSYNC'
}

function unavailable(error: SqliteError, file: string): StoreUnavailable {
  return new StoreUnavailable(`the database ${file} answered ${error.code}: ${explain(error, file)}`, { cause: error })
}
