import { mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** In memory where there is room: many tests wait for an fsync, and a busy disk takes seconds for one. */
const PARENT = hasRoom('/dev/shm') ? '/dev/shm' : tmpdir()

/** A folder of the test's own. */
export function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(PARENT, 'token-server-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 4 * 1024 ** 3
  } catch {
    return false
  }
}
