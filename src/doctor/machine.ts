import { existsSync } from 'node:fs'
import { readFile, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { SqliteLocation } from '../domain/database-location.ts'
import { CLOCK_TOLERANCE } from '../domain/time.ts'
import type { Inspector } from '../store/inspect.ts'
import { isAtLeast, OLDEST_SQLITE } from '../store/migrations.ts'
import { lookAtStore, sqliteVersion } from '../store/open.ts'
import { NODE_VERSION, OLDEST_NODE, VERSION } from '../version.ts'
import { error, type Finding, ok, sizeText, warning } from './finding.ts'

/** Before this program, and long after it. */
const EARLIEST = Date.UTC(2026, 0)
const LATEST = Date.UTC(2100, 0)

/** Whether the clock of this machine can be right. */
export function examineClock(now: number): Finding[] {
  const time = new Date(now).toISOString()
  if (now >= EARLIEST && now < LATEST) return [ok(`This machine's clock says ${time}.`)]
  return [error(`This machine's clock says ${time}, which cannot be.`, 'Set it by NTP.')]
}

/** Whether the clock agrees with the store's, and with what is in the store. */
export async function examineStoreClock(inspector: Inspector, now: () => number): Promise<Finding[]> {
  const offset = Math.round(await inspector.clockOffset())
  if (Math.abs(offset) > CLOCK_TOLERANCE) {
    const text = `This machine's clock and the database's are ${Math.abs(offset)} ms apart.`
    return [error(text, 'Set both by NTP: until then this node is not ready.')]
  }
  const tokens = await inspector.tokens()
  const ahead = (tokens?.newestAt ?? 0) - now()
  if (ahead <= CLOCK_TOLERANCE) return [ok('No token was issued in the future.')]
  const text = `The newest token was issued ${Math.round(ahead / 1000)} s in the future: a clock was ahead, or was set back.`
  return [error(text, 'Set it by NTP.')]
}

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

/** A connection takes one, and each process some more. */
const FEW_FILES = 4096

/** The versions of the program and of what it runs on. */
export async function examineProgram(): Promise<Finding[]> {
  return [ok(`This is token-server ${VERSION}.`), judgeNode(NODE_VERSION), judgeSqlite(await sqliteVersion())]
}

export function judgeNode(version: string): Finding {
  if (isAtLeast(version, OLDEST_NODE)) return ok(`Node.js is ${version}.`)
  return error(`Node.js is ${version}, which is not supported.`, `Install Node.js ${OLDEST_NODE} or later.`)
}

export function judgeSqlite(version: string): Finding {
  if (isAtLeast(version, OLDEST_SQLITE)) return ok(`SQLite is ${version}.`)
  return error(`SQLite is ${version}, and before ${OLDEST_SQLITE} it can lose commits.`, 'Run npm ci.')
}

/** How many files a process may open that is started as this one. Only Linux tells. */
export async function examineLimits(file = '/proc/self/limits'): Promise<Finding[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const limit = /^Max open files +(\d+|unlimited)/m.exec(text)?.[1]
  if (limit === undefined) return []
  const found = `A process that is started as this one may open ${limit} files and connections.`
  if (limit === 'unlimited' || Number(limit) >= FEW_FILES) return [ok(found)]
  return [warning(found, 'Raise it (ulimit -n, LimitNOFILE): a connection takes one.')]
}
