import { spawn, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { LeaderTimeouts } from '../../src/server/leader.ts'
import { freePort } from './free-port.ts'
import { register, startServer } from './spawn.ts'
import { temporaryDatabase } from './temporary-database.ts'
import { until } from './until.ts'

const FIXTURE = join(import.meta.dirname, 'leader/main.ts')
const PROGRAM = join(import.meta.dirname, '../../src/commands/program.ts')
const PROCESS = join(import.meta.dirname, '../../src/commands/shared/process.ts')

const TIMEOUTS: LeaderTimeouts = { start: 30_000, pingInterval: 5000, unansweredPings: 6, respawn: 10, close: 10_000 }

/** What the workers of `spawnLeader` run. */
export const SERVE = `
import { runProcess } from ${JSON.stringify(PROCESS)}
import { main } from ${JSON.stringify(PROGRAM)}
await runProcess(() => main(['serve'], process))
`

interface LeaderOptions {
  program?: string
  timeouts?: Partial<LeaderTimeouts>
  closing?: 'hangs' | 'leaves a hung file' | ''
  env?: NodeJS.ProcessEnv
}

/** Starts a leader of two workers that run a program, which `rewrite` changes. */
export async function spawnLeader(
  t: Test,
  { program = SERVE, timeouts = {}, closing = '', env: settings = {} }: LeaderOptions = {},
) {
  const { folder, env } = temporaryDatabase(t)
  const file = join(folder, 'program.ts')
  const pipe = join(folder, 'pipe')
  spawnSync('mkfifo', [pipe])
  const rewrite = (text: string) => writeFileSync(file, text)
  rewrite(program)
  const credentials = await register(env)
  const args = [FIXTURE, file, JSON.stringify({ ...TIMEOUTS, ...timeouts }), closing, pipe]
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env, ...settings, WORKERS: '2', PORT: String(await freePort()) },
    stdio: 'pipe',
    cwd: folder,
  })
  t.teardown(() => child.kill('SIGKILL'))
  return { child, env, credentials, rewrite, folder }
}

/** The same, when it is ready. */
export async function startLeader(t: Test, options?: LeaderOptions) {
  const spawned = await spawnLeader(t, options)
  const server = await startServer(t, spawned.env, spawned.child)
  /** The process ids of its workers, of which each has answered at least one of these. */
  const workers = async () => {
    await until(async () => {
      await server.token(spawned.credentials)
      return server.issuers().length === 2
    })
    return server.issuers() as [number, number]
  }
  return { ...spawned, server, workers }
}
