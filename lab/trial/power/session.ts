import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Disk, openDisk } from '../disk/disk.ts'
import type { World } from '../trial.ts'
import { makeData, runCommand } from '../world/data.ts'
import { type Entry, startLoad } from '../world/ledger.ts'
import { isAlive, kill, type Server, startServer } from '../world/server.ts'
import { until } from '../world/until.ts'
import { type Command, expectedAt } from './expectation.ts'
import { readLog } from './log.ts'
import { createModel } from './model.ts'

export type Session = ReturnType<typeof openSession>

/** How many applications, the last ones of the data, are for commands, one each. */
const FOR_COMMANDS = 6

/** A database on a disk that logs its operations, servers on it, and all that was acknowledged to clients and operators. */
export function openSession(world: World, name: string, workers: number) {
  const disk = openDisk(world, name, { log: true })
  const data = makeData(world, disk.folder, 8 + FOR_COMMANDS, disk.env)
  const ledger: Entry[] = []
  const commands: Command[] = []
  const victims = data.applications.slice(-FOR_COMMANDS)

  const start = () => startServer(world, data, { WORKERS: String(workers) })

  /** Load for some milliseconds, with `meanwhile` in its middle. */
  async function load(server: Server, milliseconds: number, meanwhile?: () => Promise<unknown>): Promise<void> {
    const habits = { connections: 6, revoke: 0.25, twice: 0.4, pause: 3 }
    const running = startLoad(server.port, { applications: data.applications, random: world.random, ledger, habits })
    await sleep(milliseconds / 2)
    await meanwhile?.()
    await sleep(milliseconds / 2)
    await running.stop()
  }

  /** A command on the same disk, which counts once it has ended with status 0. */
  async function command(kind: Command['kind']): Promise<void> {
    const beganAt = process.hrtime.bigint()
    const victim = victims[commands.length % victims.length] as Entry['application']
    const { client_id = victim.client_id } = await runCommand(data, argumentsOf(kind, victim.client_id))
    const application = { ...victim, client_id: String(client_id) }
    commands.push({ kind, application, beganAt, endedAt: process.hrtime.bigint() })
  }

  return {
    disk,
    data,
    ledger,
    start,
    load,
    command,
    kill: (pids: number[]) => killBetweenCalls(disk, pids),
    log: () => readLog(disk.readLog()),
    expectedAt: (time: bigint) => expectedAt(time, ledger, commands),
    commands: () => commands.length,
  }
}

function argumentsOf(kind: Command['kind'], clientId: string): string[] {
  if (kind === 'revoke-all') return ['tokens', 'revoke-all', clientId]
  if (kind === 'suspend') return ['applications', 'suspend', clientId]
  return ['applications', 'register', '--name', 'New', '--developer-email', 'new@partner.example']
}

/** Kills processes, but never between an operation and its entry in the log. */
async function killBetweenCalls(disk: Disk, pids: number[]): Promise<void> {
  disk.set('frozen', 1)
  await sleep(50)
  kill(pids)
  await until(() => !pids.some(isAlive), 'the end of what was killed')
  disk.set('frozen', 0)
}

/** Throws unless the model, after the whole log, equals the real files. Call this when the server has ended. */
export function assertModelIsTrue({ disk, log }: Session): void {
  const model = createModel()
  for (const [at, entry] of log().entries()) model.apply(entry, at)
  for (const { name, bytes } of model.now()) {
    const real = readFileSync(join(disk.folder, name))
    if (!real.equals(bytes)) throw new Error(`The trial is wrong: its model of ${name} is not the real file.`)
  }
}
