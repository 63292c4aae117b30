import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../until.ts'
import { isAlive, startOf } from './processes.ts'
import { runPostgres } from './server.ts'

/** The process that all tests of a run come from: tap's, or this one where a file is run by itself. */
const RUN = process.env.TAP ? process.ppid : process.pid

/** A first start makes a data directory, too: on a busy machine that takes long. */
const PATIENCE_MS = 120_000

/**
 * The superuser's address of the server that all tests of a run share. The first process that needs it starts it; it ends
 * with the run. TEST_POSTGRES_URL names another one.
 */
export async function sharedServer(): Promise<string> {
  if (process.env.TEST_POSTGRES_URL) return process.env.TEST_POSTGRES_URL
  // With the start of the process: what a machine that went down has left is not that of a process with the same number.
  const file = join(tmpdir(), `token-server-tests-${process.getuid?.()}-${RUN}-${startOf(RUN)}`)
  const lock = `${file}.lock`
  for (;;) {
    const url = contentOf(file)
    if (url) return url
    if (take(lock)) break
    await until(() => contentOf(file) !== undefined || !isHeld(lock), PATIENCE_MS)
    // Whoever was to start it has died.
    if (contentOf(file) === undefined) rmSync(lock, { force: true })
  }
  const temporary = `${file}.new`
  try {
    const endWith = { pid: RUN, files: [file, lock, temporary] }
    // There are so many databases that autovacuum would never rest.
    const settings = { max_connections: '200', autovacuum: 'off', full_page_writes: 'off' }
    const server = await runPostgres({ endWith, settings })
    writeFileSync(temporary, server.url(), { mode: 0o600 })
    renameSync(temporary, file)
    return server.url()
  } catch (error) {
    // The next one that needs it tries again, and says why it cannot be started.
    rmSync(lock, { force: true })
    throw error
  }
}

/** Whether the lock is this process's now. It is there with its content or not at all. */
function take(lock: string): boolean {
  const own = `${lock}.${process.pid}`
  writeFileSync(own, String(process.pid))
  try {
    linkSync(own, lock)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  } finally {
    rmSync(own)
  }
}

/** Whether the process that has taken the lock still runs. */
function isHeld(lock: string): boolean {
  const pid = contentOf(lock)
  return pid !== undefined && isAlive(Number(pid))
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
