import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { AS_USER } from './user.ts'

/** The process ids of a process's children. */
export function childrenOf(pid: number): number[] {
  if (process.platform === 'linux') {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
  }
  const pairs = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  return pairs
    .map((pair) => pair.trim().split(/\s+/).map(Number))
    .flatMap(([child, parent]) => (parent === pid ? [child as number] : []))
}

/** Whether a process runs; one that has ended and that nobody has waited for does not. */
export function isAlive(pid: number): boolean {
  return process.platform === 'linux' ? !['Z', undefined].includes(stateOf(pid)) : signalTo(pid, 0)
}

/** The state of a process, a letter; undefined where there is none. Its name, in parentheses, may have any character. */
function stateOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat[stat.lastIndexOf(')') + 2]
  } catch {
    return undefined
  }
}

/** Sends a signal, and says whether the process was still there. */
export function signalTo(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

// Also what was stopped by SIGSTOP has to end. The number of tries is limited: nobody may wait for the process.
const END = `
if [ "$2" ]; then while kill -0 "$2" 2>/dev/null; do sleep 0.2; done; else cat >/dev/null; fi
if pid=$(head -n 1 "$1/data/postmaster.pid"); then
  kill -CONT $pid $(cat /proc/$pid/task/$pid/children)
  kill -QUIT $pid
  tries=100
  while kill -0 $pid && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done
fi
shift 2
rm -rf "$folder" "$@"
`

/** The process that a server ends with, and files to remove then. */
export interface EndWith {
  pid: number
  files: string[]
}

/**
 * Ends the server in a folder, and removes the folder: when `end` is called, and when this process, or another one, ends in
 * whatever way.
 */
export function endWithProcess(folder: string, other?: EndWith): { end(): Promise<void> } {
  const { pid = '', files = [] } = other ?? {}
  const watcher: ChildProcess = spawn('sh', ['-c', `folder=$1${END}`, 'sh', folder, String(pid), ...files], {
    // Only who started the other process may ask about it.
    ...(other ? { cwd: '/' } : AS_USER),
    // Signals to the process group of the test do not reach it.
    detached: true,
    stdio: [other ? 'ignore' : 'pipe', 'ignore', 'ignore'],
  })
  // It keeps no test from ending.
  watcher.unref()
  const exited = once(watcher, 'exit')
  return {
    async end() {
      watcher.ref()
      watcher.stdin?.end()
      await exited
    },
  }
}
