import { existsSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { SqliteLocation } from '../domain/database-location.ts'
import { lookAtStore } from '../store/open.ts'
import { error, type Finding, ok, warning } from './finding.ts'
import { sizeText } from './words.ts'

/** The log may grow to the second before changes are refused; with less than the first the next checkpoint may fail. */
const VERY_LITTLE = 100 * 1024 ** 2
const LITTLE = 1024 ** 3
const FEW_INODES = 1000

/** The room on the disk of a database. */
export async function examineDisk(location: SqliteLocation): Promise<Finding[]> {
  const { database, log } = await lookAtStore(location)
  const used = (database?.size ?? 0) + (log?.size ?? 0)
  const folder = dirname(resolve(location.file))
  const { bavail, bsize, files, ffree } = await statfs(nearest(folder))
  return judgeDisk({ folder, used, free: bavail * bsize, inodes: files, freeInodes: ffree })
}

/** The folder, or the nearest one above it that there is. */
function nearest(folder: string): string {
  return existsSync(folder) ? folder : nearest(dirname(folder))
}

interface Room {
  folder: string
  /** What the database takes, and what is free, in bytes. */
  used: number
  free: number
  /** How many the file system has; 0: it has no such limit. */
  inodes: number
  freeInodes: number
}

export function judgeDisk({ folder, used, free, inodes, freeInodes }: Room): Finding[] {
  const text = `${sizeText(free)} are free on the disk of ${folder}.`
  const room = 'Free some space: a full disk stops tokens and changes.'
  if (inodes > 0 && freeInodes < FEW_INODES) {
    return [error(`The file system of ${folder} has ${freeInodes} inodes left.`, 'Delete some files there.')]
  }
  if (free < VERY_LITTLE) return [error(text, room)]
  if (free < LITTLE) return [warning(text, room)]
  if (free < used) return [warning(text, 'A backup or a restore beside the database does not fit.')]
  return [ok(text)]
}
