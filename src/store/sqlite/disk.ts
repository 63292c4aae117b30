import { chmodSync, closeSync, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import Database from 'better-sqlite3'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { leaveOpen } from '../opened.ts'
import { explain, isLocked } from './explain.ts'
import { isUnsound, logSize, MARK, sideFilesOf } from './files.ts'

/** How long the disk may take to answer. Milliseconds. */
const TIMEOUT_MS = 2000

const NO_ANSWER = `the disk has not answered for ${TIMEOUT_MS / 1000} seconds`

interface Options {
  fsync: () => Promise<unknown>
  /** Throws StoreUnavailable if another process's fsync has failed. */
  assertSound: () => void
  /** Marks the database, so that the other processes learn of the failure. */
  mark: () => void
}

/**
 * Flushes writes to disk. After one failure every flush fails: the kernel may have dropped pages, so nothing written
 * after them is safe. Nothing may be written while the disk does not answer.
 */
export function createDisk({ fsync, assertSound, mark }: Options) {
  let failure: StoreUnavailable | undefined
  let overdue = 0

  /** Resolves when all earlier writes are on disk; rejects with StoreUnavailable, after two seconds at most. */
  function flush(): Promise<void> {
    return new Promise((resolve, reject) => {
      let isOverdue = false
      let late: NodeJS.Immediate | undefined
      function giveUp(): void {
        isOverdue = true
        overdue++
        reject(new StoreUnavailable(`${NO_ANSWER}; the change may have been stored nevertheless`))
      }
      // After a pause of the whole process the timer comes first, and then the disk's answer.
      const timer = setTimeout(() => {
        late = setImmediate(giveUp)
      }, TIMEOUT_MS)

      function ended(): void {
        clearTimeout(timer)
        clearImmediate(late)
        if (isOverdue) overdue--
        try {
          assertTrusted()
          // After another process's failed fsync, this one's success means nothing.
          assertSound()
          resolve()
        } catch (error) {
          reject(error)
        }
      }
      fsync().catch(distrust).then(ended)
    })
  }

  /** From now on, no process trusts the disk. */
  function distrust(cause: unknown): void {
    failure ??= new StoreUnavailable('fsync failed; the disk cannot be trusted with what was written', { cause })
    mark()
  }

  /** Throws StoreUnavailable if an fsync of this process has failed. */
  function assertTrusted(): void {
    if (!failure) return
    // Marks it again, because the file system may have been read-only the first time.
    mark()
    throw failure
  }

  /** Throws StoreUnavailable while an fsync is overdue. */
  function assertAnswering(): void {
    if (overdue > 0) throw new StoreUnavailable(NO_ANSWER)
  }

  return { flush, distrust, assertTrusted, assertAnswering }
}

// After a failed fsync the kernel treats the lost pages as written: the next fsync succeeds, in other processes too,
// and a power cut loses what was written before it. Only the process whose fsync failed knows. So it marks the database
// for all processes, in the mode of the write-ahead log: that needs no space, outlives every process, and is read by
// the system call that checks whether the file is still the same (docs/adr/0015).

/** Marks a database, if possible: if its mode cannot be changed, the log cannot be written any more, either. */
export function markUnsound(file: string): void {
  changeMode(file, (mode) => mode | MARK)
}

function markSound(file: string): void {
  changeMode(file, (mode) => mode & ~MARK)
}

function changeMode(file: string, change: (mode: number) => number): void {
  const [wal] = sideFilesOf(file)
  try {
    chmodSync(wal, change(statSync(wal).mode) & 0o7777)
  } catch {
    // There is no log, or the file system is read-only. A process that distrusts the disk tries again later.
  }
}

const CHUNK_BYTES = 1024 * 1024

/**
 * Overwrites a log with its own contents, so that the kernel considers all of it unwritten, and the next fsync writes it. No
 * other process may be writing to the log.
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

/** How long recovery waits for a process that is ending. Milliseconds. */
const RECOVERY_TIMEOUT_MS = 2000

/**
 * Writes all of a database's log to disk and empties it, while no other process has the database open: what a failed
 * fsync has left only in memory is then safe. If another process has it open this does nothing, or throws OperatorError
 * if the database is marked as unsound. If the disk fails it marks the database and throws OperatorError.
 *
 * With no other process, SQLite reads the whole log from the file and copies all of it. Otherwise it would trust the index
 * of the log that the others keep, and skip what they had copied without an fsync.
 */
export function recoverLog(file: string): void {
  const isRequired = isUnsound(file)
  if (logSize(file) === 0) {
    markSound(file)
    return
  }

  const until = `Until that has succeeded do not delete ${file}-wal, do not unmount the disk`
  const warning = `${until}, and do not restart the machine.`
  const db = new Database(file, { fileMustExist: true, timeout: isRequired ? RECOVERY_TIMEOUT_MS : 0 })
  try {
    db.pragma('locking_mode = EXCLUSIVE')
    db.pragma('synchronous = FULL')
    // The first statement takes the lock that all other connections share.
    db.pragma('schema_version')
  } catch (error) {
    db.close()
    if (!isLocked(error)) throw error
    if (!isRequired) return
    const cause = 'what is not on the disk can only be written there while no other process has the database open'
    const fix = 'End every process that has it open (token-server, sqlite3, a backup), then start again.'
    throw new OperatorError(`an fsync has failed, and ${cause}. ${fix} ${warning}`, { cause: error })
  }

  try {
    // Done before the checkpoint: without all of the log on the disk, a power cut would leave a half-copied database.
    rewriteLog(file)
    db.pragma('wal_checkpoint(TRUNCATE)')
    markSound(file)
    db.close()
  } catch (error) {
    markUnsound(file)
    leaveOpen(db)
    const cause = explain(error as Error, file)
    throw new OperatorError(`its log cannot be written to the disk: ${cause} Then start again. ${warning}`, {
      cause: error,
    })
  }
}
