import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { leaveOpen } from '../left-open.ts'
import { explain } from './explain.ts'
import { isUnsound, logSize } from './files.ts'
import { isLocked } from './retry-locked.ts'
import { markSound, markUnsound, rewriteLog } from './unsound.ts'

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
