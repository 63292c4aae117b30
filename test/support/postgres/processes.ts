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

/** Whether a process runs; one that has ended and that nobody has waited for does not: its state is Z. */
export function isAlive(pid: number): boolean {
  if (process.platform !== 'linux') return signalTo(pid, 0)
  try {
    return fieldsOf(pid)[0] !== 'Z'
  } catch {
    return false
  }
}

/** When a process started, in whatever unit: with its number it names one process for good. */
export function startOf(pid: number): string {
  if (process.platform === 'linux') return fieldsOf(pid)[19] as string
  return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).replaceAll(/\W+/g, '-')
}

/** What Linux says of a process, from its state on. Its name before that, in parentheses, may have any character. */
function fieldsOf(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Sends a signal, and says whether the process was still there. */
export function signalTo(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

// The server of another process may only just be starting. Also what was stopped by SIGSTOP has to end. The number of tries
// is limited: nobody may wait for the process.
const END = `
runs() { kill -0 "$1" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$1/status" 2>/dev/null; }
if [ "$2" ]; then
  while runs "$2"; do sleep 0.5; done
  tries=50
  until [ -s "$1/data/postmaster.pid" ] || [ $tries -eq 0 ]; do sleep 0.1; tries=$((tries - 1)); done
else cat >/dev/null; fi
if pid=$(head -n 1 "$1/data/postmaster.pid"); then
  family="$pid $(cat /proc/$pid/task/$pid/children)"
  kill -CONT $family
  kill -QUIT $pid
  tries=200
  while runs $pid && [ $tries -gt 0 ]; do sleep 0.05; tries=$((tries - 1)); done
  if runs $pid; then kill -KILL $family; fi
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
