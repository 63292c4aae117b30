import { setTimeout as sleep } from 'node:timers/promises'

const PAUSE_MS = 10

/** Whether operations on files are under way. Node.js has no name for them but these (FSReqCallback, FSReqPromise). */
function isWaitingForFiles(): boolean {
  return process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'))
}

/** Resolves when no operation on a file is under way. */
export async function untilFilesRest(): Promise<void> {
  while (isWaitingForFiles()) await sleep(PAUSE_MS)
}

/**
 * Ends this process. An exit waits for the operations on files that are under way; on a disk that hangs they never end, so
 * the process is killed then and its status is lost.
 */
export function endProcess(status: number, self: Pick<NodeJS.Process, 'pid' | 'kill' | 'exit'> = process): void {
  if (isWaitingForFiles()) self.kill(self.pid, 'SIGKILL')
  else self.exit(status)
}
