import { chmodSync, closeSync, fstatSync, openSync, readSync, statSync, writeSync } from 'node:fs'
import { MARK, sideFilesOf } from './files.ts'

// When an fsync has failed, the kernel takes for written what it could not write: the next fsync succeeds, also another
// process's, and a power cut loses what was written before it. Only the process whose fsync failed knows. So it marks the
// database for all, in the mode of the write-ahead log: that needs no space, outlives every process, and is seen by the
// system call that looks whether the file is still the same (docs/adr/0015).

/** Marks a database, if that is possible: where nothing can be changed, nothing can be written behind a gap either. */
export function markUnsound(file: string): void {
  changeMode(file, (mode) => mode | MARK)
}

/** Takes the mark away: all of the log is on the disk. */
export function markSound(file: string): void {
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
