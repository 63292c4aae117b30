import { statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from './temporary-folder.ts'

/** In memory where there is room: a command waits for an fsync several times. */
const PARENT = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()

/** Where a database of the test's own will be, and the environment that names it to a command. */
export function temporaryDatabase(t: Test) {
  const folder = temporaryFolder(t, PARENT)
  const file = join(folder, 'store.db')
  return { folder, file, env: { DATABASE_URL: `sqlite:${file}` } }
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 4 * 1024 ** 3
  } catch {
    return false
  }
}
