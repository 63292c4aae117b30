import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Checkout, type Credentials, openCheckout } from '../../bench/world/checkout.ts'
import type { World } from '../trial.ts'

/** The program, and the settings that name a store. */
export type Place = Pick<Store, 'checkout' | 'env'>

/** A store, filled with the program's own commands. */
export interface Store {
  checkout: Checkout
  env: Record<string, string>
  suite: Credentials
  applications: [Credentials, ...Credentials[]]
}

/** A store in an SQLite file, in a folder of its own. */
export interface Data extends Store {
  file: string
}

/** Makes a database in a folder, with a suite, `store`, and applications that are approved for it. */
export function makeData(
  world: Pick<World, 'program'>,
  folder: string,
  applications: number,
  settings: Record<string, string> = {},
): Data {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'tokens.db')
  return { file, ...fillStore(world, { ...settings, DATABASE_URL: `sqlite:${file}` }, applications) }
}

/** Registers a suite, `store`, and applications that are approved for it, in the store that the settings name. */
export function fillStore({ program }: Pick<World, 'program'>, env: Store['env'], applications: number): Store {
  const place = { checkout: openCheckout(program, 'product'), env }
  const suite = runNow(place, ['suites', 'register', 'store', '--name', 'Store API', '--create'])
  const registrations = Array.from({ length: applications }, (_, index) => ({
    name: `Application ${index + 1}`,
    developer_email: 'dev@partner.example',
  }))
  return { ...place, suite, applications: seed(place, { applications: registrations }).applications }
}

/** Applies a seed file. Returns what the command printed. */
export function seed(store: Place, content: object) {
  return runNow(store, ['seed', '-'], JSON.stringify(content))
}

/** Starts to apply a seed file, for whoever wants to kill that. */
export function startSeed({ checkout, env }: Place, content: object) {
  const child = spawn(process.execPath, [checkout.main, 'seed', '-'], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  child.stdin.on('error', () => {}).end(JSON.stringify(content))
  return child
}

function runNow({ checkout, env }: Place, args: string[], input = '') {
  const options = {
    env: { PATH: process.env.PATH, ...env },
    cwd: tmpdir(),
    input,
    encoding: 'utf8',
    maxBuffer: Infinity,
  } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [checkout.main, ...args, '--json'], options)
  if (status !== 0) throw new Error(`${args.join(' ')} failed: ${stderr}`)
  return JSON.parse(stdout)
}

/** Runs a command beside a server. Resolves to what it printed. Rejects if it failed. */
export async function runCommand({ checkout, env }: Place, args: string[]): Promise<Record<string, unknown>> {
  const child = spawn(process.execPath, [checkout.main, ...args, '--json'], { env: { PATH: process.env.PATH, ...env } })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode !== 0) throw new Error(`${args.join(' ')} failed: ${err}`)
  return JSON.parse(out || '{}')
}
