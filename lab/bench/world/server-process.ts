import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import { cpuTime, memory, processTree } from './proc-stat.ts'

/** What to undo when the program ends, however it ends. Synchronous: nothing is awaited at exit. */
export type Cleanup = Set<() => void>

/** What a server is: this product, another version of it, a constant answer, or another project's token server. */
export type Kind = 'product' | 'other version' | 'constant' | 'peer'

/** The time for a server to answer after its start, and to exit after SIGTERM. */
const TIMEOUT_MS = 120_000
const POLL_MS = 2

export interface ServerOptions {
  kind: Kind
  /** The program and its arguments. The port is in the variable PORT. */
  command: [string, ...string[]]
  env: Record<string, string>
  /** Its working directory, which has no `.env`, and the place of its log. */
  folder: string
  /** A path that answers 200 once the server is ready. */
  path: string
  /** Whether it runs on one core only. */
  pin: boolean
}

export type Server = Awaited<ReturnType<typeof startServer>>

/** Starts a server as an operator does, with standard output in a file, and waits until it is ready. */
export async function startServer(cleanup: Cleanup, { kind, command, env, folder, path, pin }: ServerOptions) {
  const port = await freePort()
  const errors = join(folder, `${port}.err`)
  const [program, ...args] = pin ? pinned(command, 0) : command
  const startedAt = performance.now()
  const child = spawn(program, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, NODE_ENV: 'production', HOST: '127.0.0.1', PORT: String(port), ...env },
    stdio: ['ignore', openSync(join(folder, `${port}.log`), 'a'), openSync(errors, 'a')],
  })
  const pid = child.pid as number
  const kill = () => {
    for (const one of processTree(pid)) process.kill(one, 'SIGKILL')
  }
  cleanup.add(kill)
  child.once('exit', () => cleanup.delete(kill))

  while (!(await isReady(port, path))) {
    if (child.exitCode !== null) throw new Error(`${command.join(' ')} exited: ${readFileSync(errors, 'utf8')}`)
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error(`${command.join(' ')} does not answer`)
    await sleep(POLL_MS)
  }

  return {
    kind,
    port,
    ports: [port] as [number, ...number[]],
    /** From its start to the first 200, in seconds. */
    startSeconds: (performance.now() - startedAt) / 1000,
    cpuTime: () => cpuTime(pid),
    memory: () => memory(pid),
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    stop: () => stop(child),
  }
}

/** The command on one core only, if the machine has several cores and `taskset`. */
export function pinned(command: [string, ...string[]], core: number): [string, ...string[]] {
  return canPin ? ['taskset', '-c', String(core), ...command] : command
}

/** Whether the servers and the load program have a core each. */
export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  // A section may have suspended it with SIGSTOP.
  child.kill('SIGCONT')
  await Promise.race([exited, sleep(TIMEOUT_MS, undefined, { ref: false })])
  if (child.exitCode === null && child.signalCode === null) throw new Error('a server did not exit after SIGTERM')
}

function isReady(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('error', () => resolve(false))
  })
}
