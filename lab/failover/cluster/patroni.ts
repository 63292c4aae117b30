import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { USER } from '../../../test/support/postgres/user.ts'
import type { Layout } from './layout.ts'
import type { Member } from './member.ts'
import { PATH } from './programs.ts'

/** How long Patroni and etcd may take for an answer, milliseconds. */
const TIMEOUT_MS = 1000

/** The roles of the running members by name, as this member sees them. Empty if it does not answer. */
export async function rolesSeenBy({ api }: Member): Promise<Map<string, string>> {
  const state = (await ask(`${api}/cluster`)) as
    | { members?: { name: string; role: string; state: string }[] }
    | undefined
  const running = (state?.members ?? []).filter((one) => /^(running|streaming)$/.test(one.state))
  return new Map(running.map(({ name, role }) => [name, role]))
}

/** The JSON document at an address; undefined if there is none. */
export async function ask(url: string): Promise<unknown> {
  try {
    return await (await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) })).json()
  } catch {
    return undefined
  }
}

/** Makes another member the primary, as an operator does before maintenance. */
export async function switchOver({ folder }: Layout, { configuration, name }: Member): Promise<void> {
  const args = ['-c', configuration, 'switchover', '--leader', name, '--force']
  const env = { PATH, HOME: folder, LC_ALL: 'C.UTF-8' }
  const child = spawn('patronictl', args, { ...USER, cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  // The exit status is 0 even if the switchover was refused.
  if (!/Successfully switched over/.test(out)) throw new Error(`patronictl switchover: ${out}${err}`)
}
