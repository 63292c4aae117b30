import { spawnSync } from 'node:child_process'
import type { Credentials } from '../../world/checkout.ts'
import type { Postgres } from '../../world/postgres.ts'
import type { Server } from '../../world/server-process.ts'
import { isActive, issueTokens } from '../../world/single-requests.ts'

/** A token server with one client, its paths, and valid tokens to introspect. */
export interface Peer {
  name: string
  server: Server
  application: Credentials
  tokenPath: string
  /** The caller at introspection, and the port if it is another one. */
  introspection: { path: string; caller: Credentials; port?: number }
  accessTokens: string[]
  /** From its start to its first token, in seconds, and its memory then, in MiB. */
  firstToken: number
  firstMemory: number
}

/** A peer whose server has just started: asks it for its first token, and for `count` to introspect. */
export async function openPeer(
  peer: Omit<Peer, 'firstToken' | 'firstMemory' | 'accessTokens'>,
  count: number,
): Promise<Peer> {
  const { server, application, tokenPath, introspection } = peer
  const startedAt = performance.now()
  const [first] = await issueTokens(server.port, application, 1, tokenPath)
  const firstToken = server.startSeconds + (performance.now() - startedAt) / 1000
  const firstMemory = server.memory().now
  const { path, caller, port = server.port } = introspection
  if (!(await isActive(port, caller, first as string, path))) throw new Error(`${peer.name}: a new token is not active`)
  if (await isActive(port, caller, `${first}x`, path)) throw new Error(`${peer.name}: an unknown token is active`)
  return {
    ...peer,
    firstToken,
    firstMemory,
    accessTokens: await issueTokens(server.port, application, count, tokenPath),
  }
}

/** Makes an empty database. Returns its URL, and what Java's driver needs. */
export async function javaDatabase(postgres: Postgres) {
  const url = await postgres.createDatabase()
  const { host, pathname, username, password } = new URL(url)
  return { url, jdbc: `jdbc:postgresql://${host}${pathname}`, username, password }
}

/** Runs a command to its end. Returns what it prints; throws if it fails. */
export function runCommand(command: string, args: string[], env: Record<string, string> = {}): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    env: { ...process.env, ...env },
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`${command} ${args[0]} failed: ${error?.message ?? stdout + stderr}`)
  return stdout + stderr
}

/** Whether a command runs, and prints the pattern. */
export function isInstalled(command: string, args: string[], pattern: RegExp): boolean {
  try {
    return pattern.test(runCommand(command, args))
  } catch {
    return false
  }
}
