import { execFileSync, type SpawnOptions, spawnSync } from 'node:child_process'

/** PostgreSQL does not run as root: there it runs as another user. */
export const USER: { uid?: number; gid?: number } =
  process.getuid?.() === 0 ? (lookUp('postgres') ?? lookUp('nobody') ?? {}) : {}

function lookUp(name: string): { uid: number; gid: number } | undefined {
  const id = (option: string) => Number(spawnSync('id', [option, name], { encoding: 'utf8' }).stdout)
  return spawnSync('id', [name]).status === 0 ? { uid: id('-u'), gid: id('-g') } : undefined
}

/** How that user's programs are started. The user may not be allowed to enter the folder that we are in. */
export const AS_USER = { ...USER, cwd: '/', env: { PATH: process.env.PATH, LC_ALL: 'C' } } satisfies SpawnOptions

/** Runs a program as that user to its end. */
export function runAsUser(program: string, args: string[]): void {
  execFileSync(program, args, { ...AS_USER, stdio: 'pipe' })
}

/** Whether that user may run a program. */
export function mayRun(program: string): boolean {
  return spawnSync('test', ['-x', program], AS_USER).status === 0
}
