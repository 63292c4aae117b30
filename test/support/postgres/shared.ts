import { closeSync, existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../until.ts'
import { isAlive } from './processes.ts'
import { runPostgres } from './server.ts'

/** The process that all tests of a run come from: tap's, or this one where a file is run by itself. */
const RUN = process.env.TAP ? process.ppid : process.pid

/**
 * The superuser's address of the server that all tests of a run share. The first process that needs it starts it; it ends
 * with the run. TEST_POSTGRES_URL names another one.
 */
export async function sharedServer(): Promise<string> {
  if (process.env.TEST_POSTGRES_URL) return process.env.TEST_POSTGRES_URL
  const file = join(tmpdir(), `token-server-tests-${process.getuid?.()}-${RUN}`)
  const lock = `${file}.lock`
  for (;;) {
    if (existsSync(file)) return readFileSync(file, 'utf8')
    if (isFirst(lock)) break
    await until(() => existsSync(file) || !isHeld(lock))
    // Whoever was to start it has died.
    if (!existsSync(file)) rmSync(lock, { force: true })
  }
  const server = await runPostgres({ endWith: { pid: RUN, files: [file, lock] }, settings: { max_connections: '200' } })
  writeFileSync(`${file}.new`, server.url(), { mode: 0o600 })
  renameSync(`${file}.new`, file)
  return server.url()
}

function isFirst(lock: string): boolean {
  try {
    const descriptor = openSync(lock, 'wx')
    writeFileSync(descriptor, String(process.pid))
    closeSync(descriptor)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

function isHeld(lock: string): boolean {
  try {
    const pid = readFileSync(lock, 'utf8')
    return pid === '' || isAlive(Number(pid))
  } catch {
    return false
  }
}
