import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** The program that is measured. */
export const MAIN = join(import.meta.dirname, '../src/main.ts')

/** Credentials, of an application or a suite, as the commands print them. */
export interface Application {
  client_id: string
  client_secret: string
}

export interface Data {
  /** The file, and the setting that names it. */
  file: string
  env: { DATABASE_URL: string }
  applications: [Application, ...Application[]]
  suite: Application
  /** How long `seed` took for all applications, in seconds. */
  seedSeconds: number
}

/** A database made with the server's own commands: one suite, `store`, and applications that are approved for it. */
export function makeData(folder: string, name: string, applications: number): Data {
  const file = join(folder, `${name}.db`)
  const env = { DATABASE_URL: `sqlite:${file}` }
  command(['migrate'], { env, folder })
  const suite = command(['suites', 'register', 'store', '--name', 'Store API', '--json'], { env, folder })
  const rows = Array.from({ length: applications }, (_, index) => ({
    name: `Application ${index + 1}`,
    developer_email: 'dev@partner.example',
  }))
  const startedAt = performance.now()
  const seeded = command(['seed', '-', '--json'], { env, folder, input: JSON.stringify({ applications: rows }) })
  const seedSeconds = (performance.now() - startedAt) / 1000
  return { file, env, suite: JSON.parse(suite), applications: JSON.parse(seeded).applications, seedSeconds }
}

function command(args: string[], options: { env: Record<string, string>; folder: string; input?: string }): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH, ...options.env },
    cwd: options.folder,
    input: options.input ?? '',
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  if (status !== 0) throw new Error(`${args.join(' ')} failed: ${stderr}`)
  return stdout
}
