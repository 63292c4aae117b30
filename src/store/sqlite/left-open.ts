import type { Database } from 'better-sqlite3'

const connections: Database[] = []

/**
 * Keeps a connection from being closed before the process ends, also by the garbage collector. The last one that is closed
 * makes a checkpoint: it would wait for a disk that hangs, or build on what a disk that failed does not have.
 */
export function leaveOpen(db: Database): void {
  connections.push(db)
}
