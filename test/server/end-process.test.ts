import { spawnSync } from 'node:child_process'
import { close, open, openSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { endProcess, untilFilesRest } from '../../src/server/end-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

t.test(
  'End: a process exits, or is killed where an exit would wait for a file that hangs',
  { skip: process.platform !== 'linux' && 'needs named pipes' },
  async (t) => {
    const ends: unknown[] = []
    const self = {
      pid: 7,
      exit: ((status) => ends.push(status)) as typeof process.exit,
      kill: (pid: number, signal?: string | number) => {
        ends.push([pid, signal])
        return true as const
      },
    }
    await untilFilesRest()
    endProcess(3, self)

    const pipe = join(temporaryFolder(t), 'pipe')
    spawnSync('mkfifo', [pipe])
    // Nobody writes to it yet.
    open(pipe, (_, fd) => close(fd))
    endProcess(0, self)
    t.strictSame(ends, [3, [7, 'SIGKILL']])
    close(openSync(pipe, 'w'))
    await untilFilesRest()
  },
)
