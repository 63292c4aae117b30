import { type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

type Options = Omit<SpawnOptions, 'stdio'> & { input?: string }

/** Runs another program to its end; `env` is added to the environment. */
export async function runProgram(program: string, args: string[], { env, input, ...options }: Options = {}) {
  const child = spawn(program, args, { ...options, stdio: 'pipe', env: { ...process.env, ...env } })
  child.stdin.end(input)
  const [out, err, [status]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { out, err, status: status as number | null }
}
