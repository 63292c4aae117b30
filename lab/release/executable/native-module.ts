import { randomUUID } from 'node:crypto'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { settings } from '../../../src/config.ts'
import { parseDatabaseUrl } from '../../../src/domain/database-location.ts'
import { OperatorError } from '../../../src/domain/operator-error.ts'

// The system loads a native module from a file only, by its path: whoever can put another file there runs code as this user.

export interface NativeModule {
  /** The name of its file. */
  name: string
  binary: Buffer
}

/**
 * Loads a module from a file in the cache folder, which is written unless it is there. Without such a folder, as before `init`, or
 * with `isKept` false, the file is in a temporary folder for a moment. Throws OperatorError if no folder will do.
 */
export function loadModule(module: NativeModule, isKept: boolean, env = process.env): unknown {
  const places = [
    ...(isKept ? [() => open(kept(cacheFolder(env), module))] : []),
    ...[tmpdir(), '.'].map((parent) => () => openOnce(parent, module)),
  ]
  const failures: string[] = []
  for (const place of places) {
    try {
      return place()
    } catch (error) {
      failures.push((error as Error).message)
    }
  }
  const fix = 'Set TMPDIR to a folder that only you can change, where programs may run'
  throw new OperatorError(`${module.name} cannot be loaded. ${fix}. What went wrong: ${failures.join('; ')}.`)
}

function openOnce(parent: string, module: NativeModule): unknown {
  const folder = mkdtempSync(join(safe(parent), 'token-server-'))
  try {
    return open(write(folder, module))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function open(file: string): unknown {
  const loaded = { exports: {} }
  process.dlopen(loaded, file)
  return loaded.exports
}

function cacheFolder({ XDG_CACHE_HOME, DATABASE_URL = settings.DATABASE_URL.default }: NodeJS.ProcessEnv): string {
  if (XDG_CACHE_HOME) return created(resolve(XDG_CACHE_HOME, 'token-server'))
  const location = parseDatabaseUrl(DATABASE_URL)
  if (location.kind === 'postgres') throw new Error('there is no folder with data')
  return dirname(resolve(location.file))
}

/** A folder, which is created if no other user can change what is in the one above it. */
function created(folder: string): string {
  if (!existsSync(folder)) {
    const parent = safe(created(dirname(folder)))
    mkdirSync(join(parent, basename(folder)), { recursive: true, mode: 0o700 })
  }
  return folder
}

/** The file with the module in a folder of this user. Writes it unless it is there, unchanged, and only this user can change it. */
function kept(folder: string, module: NativeModule): string {
  const real = safe(folder)
  const { uid, mode } = lstatSync(real)
  if (uid !== process.geteuid?.() || (mode & 0o022) !== 0) throw new Error(`${real} belongs to others, too`)
  const file = join(real, module.name)
  const found = lstatSync(file, { throwIfNoEntry: false })
  const isOwn = found?.uid === uid && (found.mode & 0o170077) === 0o100000
  return isOwn && readFileSync(file).equals(module.binary) ? file : write(real, module)
}

/** The real path of a folder. Throws an Error if another user, except for root, can replace it or a folder above it. */
function safe(folder: string): string {
  const real = realpathSync(folder)
  for (let path = real; ; path = dirname(path)) {
    const { uid, mode } = lstatSync(path)
    // In a folder with the sticky bit, such as /tmp, everybody can change only what they own.
    const isShared = (mode & 0o022) !== 0 && (mode & 0o1000) === 0
    if (isShared || (uid !== 0 && uid !== process.geteuid?.())) throw new Error(`another user can change ${path}`)
    if (path === dirname(path)) return real
  }
}

function write(folder: string, { name, binary }: NativeModule): string {
  const [file, part] = [join(folder, name), join(folder, `${name}.${randomUUID()}`)]
  try {
    writeFileSync(part, binary, { mode: 0o700, flag: 'wx' })
    renameSync(part, file)
  } finally {
    rmSync(part, { force: true })
  }
  return file
}
