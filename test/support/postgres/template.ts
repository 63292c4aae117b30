import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  globSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { versionOf } from './binaries.ts'
import { mayRun, runAsUser, USER } from './user.ts'

const DAY_MS = 24 * 60 * 60 * 1000

interface Template {
  /** With the binaries in a place where the user that runs them may go. */
  binaries: string
  /** Has `data`, a fresh data directory, and `password`, that of its superuser. */
  folder: string
}

/** What every server begins as. It is made once, for all tests of a day: what cleans /tmp takes older files one by one. */
export function makeTemplate(found: string): Template {
  const version = versionOf(found)
  const prefix = join(tmpdir(), `token-server-postgres-${process.getuid?.()}-${version}-`)
  for (const old of globSync(`${prefix}*`)) if (isOld(old)) rmSync(old, { recursive: true, force: true })
  const today = `${prefix}${new Date().toISOString().slice(0, 10)}`

  const binaries = mayRun(join(found, 'postgres')) ? found : join(`${today}-program`, 'bin')
  if (!existsSync(binaries))
    makeOnce(dirname(binaries), (folder) => cpSync(dirname(found), folder, { recursive: true, verbatimSymlinks: true }))
  const folder = `${today}-template`
  if (!existsSync(folder)) makeOnce(folder, (folder) => initialize(binaries, folder))
  if (USER.uid !== undefined && statSync(folder).uid !== USER.uid) throw new Error(`${folder} is somebody else's`)
  return { binaries, folder }
}

function isOld(folder: string): boolean {
  return Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0) > 2 * DAY_MS
}

/** Makes a folder so that it is there whole or not at all, also when several processes do. */
function makeOnce(folder: string, make: (folder: string) => void): void {
  const temporary = temporaryFolderOfUser(`${folder}-`)
  make(temporary)
  try {
    renameSync(temporary, folder)
  } catch (error) {
    rmSync(temporary, { recursive: true })
    if (!existsSync(folder)) throw error
  }
}

/** A folder that belongs to the user that runs PostgreSQL. */
export function temporaryFolderOfUser(prefix: string): string {
  const folder = mkdtempSync(prefix)
  if (USER.uid !== undefined) chownSync(folder, USER.uid, USER.gid as number)
  return folder
}

function initialize(binaries: string, folder: string): void {
  const password = join(folder, 'password')
  writeFileSync(password, randomUUID(), { mode: 0o600 })
  if (USER.uid !== undefined) chownSync(password, USER.uid, USER.gid as number)
  const access = ['-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${password}`]
  runAsUser(join(binaries, 'initdb'), ['-D', join(folder, 'data'), ...access, '-N', '--locale=C', '-E', 'UTF8'])
  chmodSync(folder, 0o700)
}
