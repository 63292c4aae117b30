import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { signalTo } from '../../../test/support/postgres/processes.ts'
import { USER } from '../../../test/support/postgres/user.ts'
import { processTree } from '../../bench/world/proc-stat.ts'
import { inFolder, type Layout } from './layout.ts'
import { PATH } from './programs.ts'

/** Starts a program of the cluster, as the user who may run PostgreSQL, with its output in a file NAME.log. */
export function startProgram(layout: Layout, name: string, command: string, args: string[]): ChildProcess {
  const log = openSync(inFolder(layout, `${name}.log`), 'a')
  const env = { PATH, HOME: layout.folder, LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1' }
  const child = spawn(command, args, { ...USER, cwd: layout.folder, env, stdio: ['ignore', log, log] })
  closeSync(log)
  child.on('error', (error) => process.stderr.write(`${command}: ${error.message}\n`))
  return child
}

/** PostgreSQL's processes of a data directory, the postmaster first; none if it does not run. */
export function postgresProcesses(dataDirectory: string): number[] {
  const pid = Number(read(`${dataDirectory}/postmaster.pid`).split('\n')[0])
  // The file outlives a killed server, and its process id may belong to another process by now.
  const isOurs =
    pid > 0 &&
    read(`/proc/${pid}/cmdline`)
      .split('\0')
      .some((word) => word.includes(dataDirectory))
  return isOurs ? processTree(pid) : []
}

/** Sends a signal to those of the processes that still run. */
export function signal(pids: number[], name: NodeJS.Signals): void {
  for (const pid of pids) signalTo(pid, name)
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
