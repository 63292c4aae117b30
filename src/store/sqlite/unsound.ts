import { chmodSync, closeSync, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { leaveOpen } from '../left-open.ts'
import { isUnsound, logSize, MARK, sideFilesOf } from './files.ts'
import { explain, isLocked } from './retry-locked.ts'

// When an fsync has failed, the kernel takes for written what it could not write: the next fsync succeeds, also another
// process's, and a power cut loses what was written before it. Only the process whose fsync failed knows. So it marks the
// database for all, in the mode of the write-ahead log: that needs no space, outlives every process, and is seen by the
// system call that looks whether the file is still the same (docs/adr/0015).

/** Marks a database, if that is possible: where nothing can be changed, nothing can be written behind a gap either. */
export function markUnsound(file: string): void {
  changeMode(file, (mode) => mode | MARK)
}

/** Takes the mark away: all of the log is on the disk. */
function markSound(file: string): void {
  changeMode(file, (mode) => mode & ~MARK)
}

function changeMode(file: string, change: (mode: number) => number): void {
  const [wal] = sideFilesOf(file)
  try {
    chmodSync(wal, change(statSync(wal).mode) & 0o7777)
  } catch {
    // There is none, or the file system is read-only. A process that does not trust the disk tries again.
  }
}

const CHUNK_BYTES = 1024 * 1024

/**
 * Writes a log over itself, so that the kernel knows again that all of it has to go to the disk: the next fsync tells the
 * truth. Nobody may be writing to it meanwhile.
 */
export function rewriteLog(file: string): void {
  const descriptor = openSync(sideFilesOf(file)[0], 'r+')
  try {
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    const { size } = fstatSync(descriptor)
    for (let at = 0; at < size; ) {
      const read = readSync(descriptor, chunk, 0, Math.min(CHUNK_BYTES, size - at), at)
      at += writeSync(descriptor, chunk, 0, read, at)
    }
  } finally {
    closeSync(descriptor)
  }
}

/** How long a process that ends may still have a database that is to be recovered. Milliseconds. */
const TIMEOUT_MS = 2000

/**
 * Brings all of a database's log to the disk, and empties it, while no other process has the database open: what an fsync
 * that failed has left in memory only is then as safe as the rest. Where another process has it open nothing is done,
 * unless the database is marked as unsound: then it throws OperatorError. So it does where the disk does not take it; the
 * database is then marked.
 *
 * Alone, because SQLite then reads the log anew, as it is in the file, and copies all of it: beside others it would trust
 * what they believe to be in it, and skip what they had copied without an fsync.
 */
export function recoverLog(file: string): void {
  const isRequired = isUnsound(file)
  if (logSize(file) === 0) {
    markSound(file)
    return
  }

  const db = new Database(file, { fileMustExist: true, timeout: isRequired ? TIMEOUT_MS : 0 })
  try {
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('synchronous = FULL')
    // The first statement takes the lock that all others share.
    db.pragma('schema_version')
  } catch (error) {
    db.close()
    if (!isLocked(error)) throw error
    if (isRequired) throw new OperatorError(needsToBeAlone(file), { cause: error })
    return
  }

  try {
    // First of all: while the log has a gap, a power cut amid the copying would leave a database of two halves.
    rewriteLog(file)
    db.pragma('wal_checkpoint(TRUNCATE)')
    markSound(file)
    db.close()
  } catch (error) {
    markUnsound(file)
    leaveOpen(db)
    throw new OperatorError(cannotBeWritten(explain(error as Error, file), file), { cause: error })
  }
}

const needsToBeAlone = (file: string) =>
  'an fsync has failed, and what is not on the disk can only be brought there while no other process has the database ' +
  `open. End every process that has it (token-server, sqlite3, a backup), then start again. ${untilThen(file)}`

const cannotBeWritten = (cause: string, file: string) =>
  `its log cannot be brought to the disk: ${cause} Then start again. ${untilThen(file)}`

const untilThen = (file: string) =>
  `Until that has succeeded do not delete ${file}-wal, do not unmount the disk, and do not restart the machine.`
