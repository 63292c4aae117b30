import { spawnSync } from 'node:child_process'
import { mkdirSync, openSync, readFileSync, readSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Skipped, type World } from '../trial.ts'

/** The 64-bit words of the control file, in the order of disk.c. */
const WORDS = [
  'frozen',
  'swallow',
  'failWal',
  'hang',
  'syncErrno',
  'writeErrno',
  'readErrno',
  'openErrno',
  'clockOffset',
] as const

export type Disk = ReturnType<typeof openDisk>

/** A directory on a disk, and a clock, that fail on command, for the processes that are started with `env`. */
export function openDisk(world: World, name: string, { log = false } = {}) {
  const base = join(world.folder, name)
  const folder = join(base, 'files')
  mkdirSync(folder, { recursive: true })
  const controlFile = join(base, 'control')
  writeFileSync(controlFile, Buffer.alloc(8 * WORDS.length))
  const control = openSync(controlFile, 'r+')
  const logFile = join(base, 'disk.log')
  if (log) writeFileSync(logFile, '')

  /** Sets a word. Takes effect in all processes at once. */
  function set(word: (typeof WORDS)[number], value: number | bigint): void {
    const bytes = Buffer.alloc(8)
    bytes.writeBigInt64LE(BigInt(value))
    writeSync(control, bytes, 0, 8, 8 * WORDS.indexOf(word))
  }

  function get(word: (typeof WORDS)[number]): number {
    const bytes = Buffer.alloc(8)
    readSync(control, bytes, 0, 8, 8 * WORDS.indexOf(word))
    return Number(bytes.readBigInt64LE())
  }

  return {
    folder,
    env: {
      LD_PRELOAD: compile(join(base, 'disk.so')),
      TRIAL_DIR: folder,
      TRIAL_CONTROL: controlFile,
      ...(log && { TRIAL_LOG: logFile }),
    },
    set,
    get,
    readLog: () => readFileSync(logFile),
  }
}

/** Compiles the library. Throws Skipped if there is no compiler. */
function compile(library: string): string {
  const source = join(import.meta.dirname, 'disk.c')
  const { status, stderr, error } = spawnSync('cc', [
    '-shared',
    '-fPIC',
    '-O2',
    '-o',
    library,
    source,
    '-ldl',
    '-lpthread',
  ])
  if (error) throw new Skipped('it needs a C compiler, cc')
  if (status !== 0) throw new Error(`disk.c does not compile: ${stderr}`)
  return library
}
