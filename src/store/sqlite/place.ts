import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { dirname, resolve } from 'node:path'
import { OperatorError } from '../../domain/operator-error.ts'
import { NoStore } from '../opened.ts'
import { logSize, sideFilesOf } from './files.ts'

const { R_OK, W_OK, X_OK } = constants

/** What group and others may do. */
const NOT_THE_OWNER = 0o077

/**
 * Makes sure that the file of a database can be used, and makes it and its folders where there is none, for their owner
 * only. Returns its real path: SQLite keeps the side files beside that, not beside a link to it. Changes nothing that is
 * there: it may be anything. Throws OperatorError where it is no file, or is none and not to be made, or is missing beside
 * its log; or the file system's error.
 */
export function preparePlace(path: string, { create }: { create: boolean }): string {
  assertNotMissing(realPlace(path))
  if (!create && !isDatabase(path)) throw new NoStore(`There is no database at ${resolve(path)}`)
  if (!exists(path)) {
    makeFolder(dirname(resolve(path)))
    closeSync(openSync(path, 'a', 0o600))
  }
  const file = realpathSync(path)
  if (!statSync(file).isFile()) throw new OperatorError('it is not a file.')
  accessSync(file, R_OK | W_OK)
  for (const one of sideFilesOf(file)) ifThere(() => accessSync(one, R_OK | W_OK))
  accessSync(dirname(file), R_OK | W_OK | X_OK)
  return file
}

/** Whether there is a database: an empty file is none yet. */
export function isDatabase(path: string): boolean {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && !(stat.isFile() && stat.size === 0)
}

/** The real path of a file, also where a link leads to one that there is not. Throws the file system's error. */
export function realPlace(path: string): string {
  if (exists(path)) return realpathSync(path)
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? realPlace(resolve(realpathSync(dirname(path)), readlinkSync(path))) : resolve(path)
}

/**
 * Throws OperatorError where a log is there and its database is not: SQLite would make an empty one and delete the log, with
 * changes that are nowhere else.
 */
export function assertNotMissing(file: string): void {
  if (!isLogAlone(file)) return
  const [log] = sideFilesOf(file)
  throw new OperatorError(`${file} is missing, but its log ${log} is there: put it back, or move the log away.`)
}

/** Whether there is a log with something in it, and its database is missing or empty. */
export function isLogAlone(file: string): boolean {
  return logSize(file) > 0 && !statSync(file, { throwIfNoEntry: false })?.size
}

/**
 * Does something with a side file, if there is one. Not after a look whether there is: another process that closes the
 * database deletes them, between a look and anything. Throws the file system's error.
 */
export function ifThere(action: () => void): void {
  try {
    action()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function exists(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined
}

/** Not by Node's `recursive`, which never ends under /proc and takes a read-only file system for a missing folder. */
function makeFolder(folder: string): void {
  if (exists(folder)) return
  makeFolder(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (error) {
    // Another process that starts at the same time has made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Takes away what others than the owner may do with the files of a database of this program's: they have hashes of secrets,
 * and personal data.
 */
export function tighten(file: string): void {
  for (const one of [file, ...sideFilesOf(file)]) {
    const { mode } = statSync(one, { throwIfNoEntry: false }) ?? { mode: 0 }
    if ((mode & NOT_THE_OWNER) === 0) continue
    try {
      chmodSync(one, mode & 0o7777 & ~NOT_THE_OWNER)
    } catch {
      // Another user's file, which it may give to a group; or a file system without permissions.
    }
  }
}
