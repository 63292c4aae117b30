const connections: object[] = []

/**
 * Keeps a connection from being closed before the process ends, also by the garbage collector. The last one that is closed
 * makes a checkpoint: it would wait for a disk that hangs, or build on what a disk that failed does not have.
 */
export function leaveOpen(connection: object): void {
  connections.push(connection)
}

/** Whether this process has to end without an orderly exit, at which the driver would close what was left open. */
export function isAnyLeftOpen(): boolean {
  return connections.length > 0
}
