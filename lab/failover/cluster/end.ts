import type { ChildProcess } from 'node:child_process'
import type { Member } from './member.ts'
import { signal } from './process.ts'

const PATIENCE_MS = 5000
const POLL_MS = 20

/**
 * Ends a cluster. Synchronous, so that it can run while this process exits. PostgreSQL gets a moment to remove its shared
 * memory, which it leaves behind if it is killed.
 */
export function endCluster(members: Member[], programs: ChildProcess[]): void {
  for (const member of members) member.killPatroni()
  const remaining = () => members.flatMap((member) => member.postgres())
  signal(postmasters(members), 'SIGQUIT')
  signal(remaining(), 'SIGCONT')
  const deadline = performance.now() + PATIENCE_MS
  while (remaining().length > 0 && performance.now() < deadline) sleepSync(POLL_MS)
  signal(remaining(), 'SIGKILL')
  for (const program of programs) program.kill('SIGKILL')
}

function postmasters(members: Member[]): number[] {
  return members.flatMap((member) => member.postgres().slice(0, 1))
}

function sleepSync(milliseconds: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}
