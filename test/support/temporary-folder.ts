import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/** A folder of the test's own. */
export function temporaryFolder(t: Test, parent = tmpdir()): string {
  const folder = mkdtempSync(join(parent, 'token-server-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
