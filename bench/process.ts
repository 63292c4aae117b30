import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import http from 'node:http'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuTime, memory, processTree } from './proc.ts'

/** What is to be undone when the program ends, however it ends. Synchronous, for an exit waits for nothing. */
export type Cleanup = Set<() => void>

/** How long a server may take to answer after its start, and to end after SIGTERM, in milliseconds. */
const PATIENCE = 30_000
const POLL = 2

export interface ServerOptions {
  /** The program and its arguments, as Node.js takes them. */
  args: string[]
  env: Record<string, string>
  /** Where its standard output goes and where it runs: no `.env` lies there. */
  folder: string
  /** A path that is answered when the server is ready. */
  path: string
  /** Whether it gets one core for itself. */
  pin: boolean
}

export type Server = Awaited<ReturnType<typeof startServer>>

/** Starts a server as an operator does, with standard output in a file, and waits until it answers. */
export async function startServer(cleanup: Cleanup, { args, env, folder, path, pin }: ServerOptions) {
  const port = await freePort()
  const errors = join(folder, `${port}.err`)
  const [command, ...rest] = pin ? pinned([process.execPath, ...args], 0) : [process.execPath, ...args]
  const startedAt = performance.now()
  const child = spawn(command as string, rest, {
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

  while (!(await answers(port, path))) {
    if (child.exitCode !== null) throw new Error(`${args.join(' ')} ended: ${readFileSync(errors, 'utf8')}`)
    if (performance.now() - startedAt > PATIENCE) throw new Error(`${args.join(' ')} does not answer`)
    await sleep(POLL)
  }

  return {
    port,
    /** From its start to its first good answer, in seconds. */
    startSeconds: (performance.now() - startedAt) / 1000,
    cpuTime: () => cpuTime(pid),
    memory: () => memory(pid),
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    stop: () => stop(child),
  }
}

/** A command that runs on one core only, where there is more than one and `taskset`. */
export function pinned(command: string[], core: number): string[] {
  return canPin ? ['taskset', '-c', String(core), ...command] : command
}

/** Whether the servers and the load program have a core each. */
export const canPin = availableParallelism() > 1 && spawnSync('taskset', ['--version']).status === 0

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  // It may have been stopped.
  child.kill('SIGCONT')
  await Promise.race([exited, sleep(PATIENCE, undefined, { ref: false })])
  if (child.exitCode === null && child.signalCode === null) throw new Error('a server does not end on SIGTERM')
}

function answers(port: number, path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode === 200)
    })
    request.on('error', () => resolve(false))
  })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
