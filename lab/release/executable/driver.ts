import { lstatSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { getRawAsset } from 'node:sea'
import { settings } from '../../../src/config.ts'
import { parseDatabaseUrl } from '../../../src/domain/database-location.ts'

// In the executable, in place of better-sqlite3. The system loads a native module from a file only, so this writes the one that is
// inside of the executable to a file, once.

const NAME = 'better-sqlite3.node'

let addon: unknown

const Database = require('../../../node_modules/better-sqlite3/lib/database.js')(() => (addon ??= load()), false)
Database.SqliteError = require('../../../node_modules/better-sqlite3/lib/sqlite-error.js')
export default Database

function load(): unknown {
  const binary = Buffer.from(getRawAsset(NAME))
  const places = [
    () => open(cached(cacheFolder(), binary)),
    ...[tmpdir(), '.'].map((parent) => () => openOnce(parent, binary)),
  ]
  let failure: unknown
  for (const place of places) {
    try {
      return place()
    } catch (error) {
      failure ??= error
    }
  }
  throw failure
}

/** For commands before there is a folder with data, or if that is read-only. */
function openOnce(parent: string, binary: Buffer): unknown {
  const folder = mkdtempSync(join(parent, 'token-server-'))
  try {
    return open(write(folder, binary))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function open(file: string): unknown {
  const loaded = { exports: {} }
  process.dlopen(loaded, file)
  return loaded.exports
}

function cacheFolder(): string {
  const { XDG_CACHE_HOME, DATABASE_URL = settings.DATABASE_URL.default } = process.env
  if (XDG_CACHE_HOME) {
    const folder = join(XDG_CACHE_HOME, 'token-server')
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return folder
  }
  const location = parseDatabaseUrl(DATABASE_URL)
  if (location.kind === 'postgres') throw new Error('There is no folder with data.')
  return dirname(resolve(location.file))
}

/** The file with the module in a folder. Writes it unless it is there, unchanged, and only this user can change it. */
function cached(folder: string, binary: Buffer): string {
  const file = join(folder, NAME)
  const { mode = 0, uid } = lstatSync(file, { throwIfNoEntry: false }) ?? {}
  const isOwn = uid === process.geteuid?.() && (mode & 0o170077) === 0o100000
  return isOwn && readFileSync(file).equals(binary) ? file : write(folder, binary)
}

function write(folder: string, binary: Buffer): string {
  const [file, part] = [join(folder, NAME), join(folder, `${NAME}.${process.pid}`)]
  rmSync(part, { force: true })
  writeFileSync(part, binary, { mode: 0o700, flag: 'wx' })
  renameSync(part, file)
  return file
}
