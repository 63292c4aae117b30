import { type Stats, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { withPeriod } from '../../domain/text.ts'

export function isLocked(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code.startsWith('SQLITE_BUSY')
}

export function isFsyncFailure(error: unknown): boolean {
  return error instanceof Database.SqliteError && error.code === 'SQLITE_IOERR_FSYNC'
}

/** Whether the error comes from SQLite, the file system or this program's rules. Any other is a bug. */
export function isExpected(error: unknown): error is Error {
  if (error instanceof OperatorError || error instanceof Database.SqliteError) return true
  return error instanceof Error && 'syscall' in error
}

/** Returns an expected error as one sentence for the operator, and any other unchanged. `use`: how an operator's file is used. */
export function toOperatorError(beginning: string, error: unknown, file: string, use?: 'read' | 'write to'): unknown {
  if (!isExpected(error)) return error
  const cause = error instanceof OperatorError ? withPeriod(error.message) : explainUse(error, file, use)
  return new OperatorError(`${beginning}: ${cause}`, { cause: error })
}

/** With less free space than this, in bytes, a disk counts as full: SQLite needs some pages in each of three files. */
const MIN_FREE_BYTES = 256 * 1024

/** Codes with which the file system and SQLite report a full disk, but also other failures. */
const MAYBE_FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL|SQLITE_CANTOPEN|SQLITE_IOERR)/
const SURELY_FULL = /^(ENOSPC|EDQUOT|SQLITE_FULL)/

/** Why a database failed, and how to fix it. SQLite's own `disk I/O error` may mean a full disk or a broken one. */
export function explain(error: Error & { code?: string; path?: string }, file: string, statfs = statfsSync): string {
  const { code = '', message } = error
  if (code === 'EACCES' || code === 'EPERM') return explainPermission(...nearestExisting(resolve(error.path ?? file)))
  // If SQLite cannot write a file, it opens it read-only, and then cannot lock it.
  if (code === 'EROFS' || code === 'SQLITE_IOERR_LOCK') {
    const fix = 'Remount it read-write, or name another place in DATABASE_URL'
    const warning = `do not unmount it before ${file} and ${file}-wal are copied to another disk`
    return `its file system is read-only. ${fix}. If an error of the disk made it read-only, ${warning}.`
  }
  if (code.startsWith('SQLITE_BUSY')) return 'another program has locked it. Wait, or end that program if it hangs.'
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    const wanted = dirname(resolve(error.path ?? file))
    const [folder, stats] = nearestExisting(wanted)
    if (folder !== wanted) return `there is no folder ${wanted}. Create it, or name another place.`
    if (!stats.isDirectory()) return `${wanted} is not a folder. Name another place.`
  }
  if (MAYBE_FULL.test(code)) {
    const [folder] = nearestExisting(dirname(resolve(file)))
    const { bavail, bsize, files, ffree } = statfs(folder)
    if (files > 0 && ffree === 0) return `the file system of ${folder} has no inode left. Delete some files there.`
    if (SURELY_FULL.test(code) || bavail * bsize < MIN_FREE_BYTES) {
      return `the disk is full. Free some space on the file system of ${folder}.`
    }
  }
  return code.startsWith('SQLITE_') ? `${message} (${code}).` : `${message}.`
}

function explainPermission(path: string, { uid, mode }: Stats): string {
  const user = process.getuid?.()
  const fix =
    uid === user
      ? `Make it writable (chmod u+rwX ${path}),`
      : `Run this as uid ${uid}, the owner; or if no server uses it, give it to uid ${user} (chown ${user} ${path});`
  const owner = `uid ${uid} (mode ${(mode & 0o777).toString(8)})`
  const problem = `${path} belongs to ${owner}, and this process, uid ${user}, may not write there.`
  return `${problem} ${fix} or name another place in DATABASE_URL.`
}

/** Never advises changing a folder that is not the database's own, such as /etc. */
function explainUse(error: Parameters<typeof explain>[0], file: string, use?: 'read' | 'write to'): string {
  if (!use || !/^(EACCES|EPERM|EROFS)$/.test(`${error.code}`)) return explain(error, file)
  const [place] = nearestExisting(resolve(error.path ?? file))
  const user = `token-server runs as uid ${process.getuid?.()}, which may not ${use} ${place}`
  const problem = error.code === 'EROFS' ? `the file system of ${place} is read-only` : user
  return `${problem}. Choose another place, or name - and redirect standard ${use === 'read' ? 'input' : 'output'}.`
}

/** The path itself or its nearest folder that exists and is visible. */
function nearestExisting(path: string): [path: string, stats: Stats] {
  try {
    return [path, statSync(path)]
  } catch {
    return nearestExisting(dirname(path))
  }
}
