import { type ForkOptions, fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Cleanup, pinned } from '../world/server-process.ts'
import type { Run, RunFigures } from './protocol.ts'

export type Load = ReturnType<typeof startLoad>

/** Starts the load program on a core of its own. */
export function startLoad({ folder, cleanup }: { folder: string; cleanup: Cleanup }) {
  const [execPath, ...execArgv] = pinned([process.execPath], 1)
  const options: ForkOptions = { execPath, execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }
  const child = fork(join(import.meta.dirname, 'program.ts'), options)
  cleanup.add(() => child.kill('SIGKILL'))
  let lists = 0

  /** Writes a list of complete requests for the load program. Returns the file. */
  function list(requests: string[]): string {
    const file = join(folder, `requests-${lists++}.json`)
    writeFileSync(file, JSON.stringify(requests))
    return file
  }

  /** Makes one run. Runs must not overlap. */
  async function run(run: Run): Promise<RunFigures> {
    child.send(run)
    const [figures] = await once(child, 'message')
    return figures
  }

  return { list, run, stop: () => void child.disconnect() }
}
