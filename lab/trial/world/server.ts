import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../../test/support/free-port.ts'
import { memory, processTree } from '../../bench/world/proc-stat.ts'
import type { World } from '../trial.ts'
import type { Store } from './data.ts'
import { tlsSettings } from './dial.ts'

/** How long a server may take until it logs that it is ready. */
const START_TIMEOUT_MS = 30_000
const POLL_MS = 5

export type Server = Awaited<ReturnType<typeof startServer>>

let started = 0

/** Starts the server as an operator does, with its log in a file, and waits until it is ready. */
export async function startServer(
  world: Pick<World, 'folder' | 'cleanup'>,
  { checkout, env }: Pick<Store, 'checkout' | 'env'>,
  settings: Record<string, string> = {},
) {
  const name = `server-${started++}`
  const [logFile, errorFile] = [join(world.folder, `${name}.log`), join(world.folder, `${name}.err`)]
  const [out, err] = [openSync(logFile, 'a'), openSync(errorFile, 'a')]
  const child = spawn(process.execPath, [...checkout.nodeOptions, checkout.main, 'serve'], {
    cwd: world.folder,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
      ...tlsSettings(),
      ...checkout.nodeEnv,
      ...env,
      ...settings,
    },
    stdio: ['ignore', out, err],
  })
  closeSync(out)
  closeSync(err)
  const pid = child.pid as number
  const killAll = () => kill(processTree(pid))
  world.cleanup.add(killAll)
  const exited = once(child, 'exit').then(() => void world.cleanup.delete(killAll))
  const log = () => readFileSync(logFile, 'utf8')
  const port = await untilReady(child, log, errorFile)

  return {
    pid,
    port,
    logFile,
    log,
    errors: () => readFileSync(errorFile, 'utf8'),
    exited,
    hasExited: () => hasExited(child),
    /** The server and its workers, by process id. */
    processes: () => processTree(pid),
    /** Resident memory of all its processes, in MiB. */
    memory: () => memory(pid),
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    /** Ends it as an operator does. Resolves to the seconds that it took; kills it if it has not ended by then. */
    stop: (seconds = 15) => stop(child, exited, seconds),
    /** Kills all its processes and waits until the first one is gone. */
    async kill(): Promise<void> {
      killAll()
      await exited
    },
  }
}

/** Kills those of the processes that still run. */
export function kill(pids: number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {}
  }
}

/** Whether a process lives and is not a zombie. */
export function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

async function untilReady(child: ChildProcess, log: () => string, errorFile: string): Promise<number> {
  const deadline = performance.now() + START_TIMEOUT_MS
  for (;;) {
    const line = log()
      .split('\n')
      .find((one) => one.includes('"ready"') && one.endsWith('}'))
    if (line) return Number(new URL(JSON.parse(line).address).port)
    if (hasExited(child)) throw new Error(`The server exited: ${log()}${readFileSync(errorFile, 'utf8')}`)
    if (performance.now() > deadline) throw new Error(`The server does not get ready: ${log()}`)
    await sleep(POLL_MS)
  }
}

async function stop(child: ChildProcess, exited: Promise<void>, seconds: number): Promise<number> {
  const startedAt = performance.now()
  const tree = processTree(child.pid as number)
  child.kill('SIGTERM')
  await Promise.race([exited, sleep(seconds * 1000, undefined, { ref: false })])
  while (tree.some(isAlive) && performance.now() - startedAt < seconds * 1000) await sleep(POLL_MS)
  const took = (performance.now() - startedAt) / 1000
  kill(tree)
  await exited
  return took
}

function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}
