import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Kind } from './server-process.ts'

/** An installed checkout of this repository: this one, or that of another version. */
export interface Checkout {
  kind: Kind
  main: string
  /** The Node.js options in the first line of bin/token-server.js, or in the script of a version without that file. */
  nodeOptions: string[]
  /** The environment of that line. */
  nodeEnv: Record<string, string>
}

/** Throws if there is no checkout in the folder. */
export function openCheckout(folder: string, kind: Kind): Checkout {
  const bin = join(folder, 'bin/token-server.js')
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const command = existsSync(bin) ? readFileSync(bin, 'utf8').split('\n', 1)[0] : scripts['token-server']
  const words = (command as string).split(' ')
  const nodeOptions = words.filter((word) => word.startsWith('--'))
  const nodeEnv = Object.fromEntries(words.filter((word) => /^[A-Z_]+=/.test(word)).map((word) => word.split('=')))
  if (nodeOptions.length === 0) throw new Error(`No Node.js options in ${bin}.`)
  return { kind, main: join(folder, 'src/main.ts'), nodeOptions, nodeEnv }
}

/** Credentials of an application or a suite, as the commands print them. */
export interface Credentials {
  client_id: string
  client_secret: string
}

/** A database, made with a checkout's own commands. */
export interface Data {
  checkout: Checkout
  /** The setting that names it. */
  env: { DATABASE_URL: string }
  applications: [Credentials, ...Credentials[]]
  suite: Credentials
  /** How long `seed` took for all applications, in seconds. */
  seedSeconds: number
}

/** Makes a database with one suite, `store`, and applications that are approved for it. */
export function makeData(
  checkout: Checkout,
  { folder, url, applications }: { folder: string; url: string; applications: number },
): Data {
  const env = { DATABASE_URL: url }
  const run = (args: string[], input = '') => command(checkout, args, { env, folder, input })
  run(['migrate'])
  const suite = JSON.parse(run(['suites', 'register', 'store', '--name', 'Store API', '--json']))
  const registrations = Array.from({ length: applications }, (_, index) => ({
    name: `Application ${index + 1}`,
    developer_email: 'dev@partner.example',
  }))
  const startedAt = performance.now()
  const seeded = run(['seed', '-', '--json'], JSON.stringify({ applications: registrations }))
  const seedSeconds = (performance.now() - startedAt) / 1000
  return { checkout, env, suite, applications: JSON.parse(seeded).applications, seedSeconds }
}

/** Adds an operator with the role viewer. Returns an admin key. */
export function makeAdminKey({ checkout, env }: Data, folder: string): string {
  const run = (args: string[]) => command(checkout, ['operators', ...args], { env, folder, input: '' })
  run(['add', 'bench', '--role', 'viewer'])
  return JSON.parse(run(['key', 'bench', '--expires', '1d', '--json'])).admin_key
}

/** Signs that operator in to the console at a port. Resolves to the cookie of the session. */
export async function logIn({ checkout, env }: Data, folder: string, port: number): Promise<string> {
  const settings = { ...env, ADMIN_ADDRESS: `127.0.0.1:${port}` }
  const { url } = JSON.parse(command(checkout, ['console', 'bench', '--json'], { env: settings, folder, input: '' }))
  const { headers } = await fetch(`http://127.0.0.1:${port}/login`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin' },
    body: new URLSearchParams({ code: new URL(url).hash.slice(1) }),
  })
  return headers.getSetCookie()[0]?.split(';')[0] as string
}

function command(
  { main }: Checkout,
  args: string[],
  { env, folder, input }: { env: Record<string, string>; folder: string; input: string },
): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], {
    env: { PATH: process.env.PATH, ...env },
    cwd: folder,
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 30,
  })
  if (status !== 0) throw new Error(`${args.join(' ')} failed: ${stderr}`)
  return stdout
}
