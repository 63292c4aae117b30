import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { needs } from '../needs.ts'
import { until } from '../until.ts'
import { temporaryFolderOfUser } from './binaries.ts'
import { quietPort } from './ports.ts'
import { answers } from './server.ts'
import { AS_USER } from './user.ts'

// On Debian it is where only root's PATH leads.
const ENV = { ...AS_USER.env, PATH: `${AS_USER.env.PATH}:/usr/sbin` }

/** Why it cannot be run here; false where it can. */
export const NO_PGBOUNCER = needs('pgbouncer')

/** A PgBouncer before the server of a database, which lends a connection for one transaction. Resolves to its address. */
export async function startPgBouncer(t: Test, databaseUrl: string): Promise<string> {
  const folder = temporaryFolderOfUser(join(tmpdir(), 'token-server-pgbouncer-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const url = new URL(databaseUrl)
  const port = await quietPort()
  const users = join(folder, 'users.txt')
  writeFileSync(users, `"${url.username}" "${url.password}"\n`, { mode: 0o644 })
  const file = join(folder, 'pgbouncer.ini')
  const access = ['auth_type = plain', `auth_file = ${users}`, 'pool_mode = transaction']
  const lines = [
    ...['[databases]', `* = host=127.0.0.1 port=${url.port}`, '[pgbouncer]'],
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', ...access],
  ]
  writeFileSync(file, `${lines.join('\n')}\n`, { mode: 0o644 })
  const child = spawn('pgbouncer', [file], { ...AS_USER, env: ENV, stdio: 'ignore' })
  const exited = once(child, 'exit')
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exited
  })
  url.port = String(port)
  await until(async () => {
    if (child.exitCode !== null) throw new Error('PgBouncer did not start')
    return answers(url.href)
  })
  return url.href
}
