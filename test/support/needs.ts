import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The `skip` of tests that need another program, by default one that is found by its name: false where it is installed. */
export function needs(program: string, isInstalled = isOnPath(program)): string | false {
  if (isInstalled) return false
  // test/main.ts says in its last line what it finds there.
  if (process.env.TEST_MISSING) writeFileSync(join(process.env.TEST_MISSING, program), '')
  return `needs ${program}`
}

/** Whether it can be run. Debian has some programs where only root's PATH leads. */
function isOnPath(program: string): boolean {
  const folders = `${process.env.PATH}${delimiter}/usr/sbin${delimiter}/usr/local/sbin`.split(delimiter)
  return folders.some((folder) => existsSync(join(folder, program)))
}
