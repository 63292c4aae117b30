import { chmodSync, closeSync, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { leaveOpen } from '../opened.ts'
import { isUnsound, logSize, MARK, sideFilesOf } from './files.ts'
import { explain, isLocked } from './retry-locked.ts'

/** How long the disk may take to answer. Milliseconds. */
const TIMEOUT_MS = 2000

const NO_ANSWER = `the disk has not answered for ${TIMEOUT_MS / 1000} seconds`

interface Options {
  fsync: () => Promise<unknown>
  /** Throws StoreUnavailable where another process's fsync has failed. */
  assertSound: () => void
  /** Tells other processes that this one's has failed. */
  mark: () => void
}

/**
 * Brings what was written to the disk. Once that has failed it fails from then on: the system may have dropped what it
 * could not write, so nothing that was written after it is safe. While the disk does not answer nothing is to be written.
 */
export function createDisk({ fsync, assertSound, mark }: Options) {
  let failure: StoreUnavailable | undefined
  let overdue = 0

  /** Resolves when all that was written before is on disk; rejects with StoreUnavailable, after two seconds at most. */
  function toDisk(): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOverdue = false
      const timer = setTimeout(() => {
        isOverdue = true
        overdue++
        reject(new StoreUnavailable(`${NO_ANSWER}; what it was asked to store may be stored all the same`))
      }, TIMEOUT_MS)

      function ended(): void {
        clearTimeout(timer)
        if (isOverdue) overdue--
        try {
          assertTrusted()
          // Where another process's fsync has failed, this one's success means nothing.
          assertSound()
          resolve()
        } catch (error) {
          reject(error)
        }
      }
      fsync().catch(distrust).then(ended)
    })
  }

  /** From now on the disk is not trusted, by any process. */
  function distrust(cause: unknown): void {
    failure ??= new StoreUnavailable('fsync failed; the disk cannot be trusted with what was written', { cause })
    mark()
  }

  /** Throws StoreUnavailable when an fsync of this process has failed. */
  function assertTrusted(): void {
    if (!failure) return
    // Again: at the first time the file system may have been read-only.
    mark()
    throw failure
  }

  /** Throws StoreUnavailable while an fsync has not returned for too long. */
  function assertAnswering(): void {
    if (overdue > 0) throw new StoreUnavailable(NO_ANSWER)
  }

  return { toDisk, distrust, assertTrusted, assertAnswering }
}

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
const RECOVERY_TIMEOUT_MS = 2000

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

  const db = new Database(file, { fileMustExist: true, timeout: isRequired ? RECOVERY_TIMEOUT_MS : 0 })
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
