import { execFileSync, spawnSync } from 'node:child_process'
import { join } from 'node:path'

export const ROOT = join(import.meta.dirname, '../..')

interface RunOptions {
  cwd?: string
  env?: NodeJS.ProcessEnv
  input?: string
}

/** Runs a program to its end. Returns what it printed on standard output. Throws an Error with what it printed on standard error. */
export function run(program: string, args: string[], { cwd = ROOT, env, input = '' }: RunOptions = {}): string {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    env: env ?? process.env,
    input,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  })
  if (status === 0) return stdout
  throw new Error(`${program} ${args.join(' ')}\n${stdout}${stderr}${error ?? ''}`)
}

/** Whether a program is on this machine; of several words, whether they run without an error. */
export function has(command: string): boolean {
  return spawnSync('sh', ['-c', command.includes(' ') ? command : `command -v ${command}`]).status === 0
}

/** The SHA-256 of files in a folder, as `sha256sum` prints it. */
export function sumsOf(folder: string, files: string[]): string {
  return execFileSync('sha256sum', files, { cwd: folder, encoding: 'utf8' })
}
