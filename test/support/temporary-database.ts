import { join } from 'node:path'
import type { Test } from 'tap'
import { temporaryFolder } from './temporary-folder.ts'

/** Where a database of the test's own will be, and the environment that names it to a command. */
export function temporaryDatabase(t: Test) {
  const folder = temporaryFolder(t)
  const file = join(folder, 'store.db')
  return { folder, file, env: { DATABASE_URL: `sqlite:${file}` } }
}
