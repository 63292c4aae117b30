import { existsSync } from 'node:fs'
import { readFile, statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import type { SqliteLocation } from '../domain/database-location.ts'
import { CLOCK_TOLERANCE } from '../domain/time.ts'
import type { Inspector } from '../store/inspect.ts'
import { isAtLeast, OLDEST_SQLITE } from '../store/migrations.ts'
import { describeStoreFiles, sqliteVersion } from '../store/open.ts'
import { NODE_VERSION, OLDEST_NODES, VERSION } from '../version.ts'
import { error, type Finding, ok, sizeText, warning } from './finding.ts'

// A correct clock is neither before the year in which this program was written nor long after it.
const EARLIEST = Date.UTC(2026, 0)
const LATEST = Date.UTC(2100, 0)

export function checkClock(now: number): Finding[] {
  const time = new Date(now).toISOString()
  if (now >= EARLIEST && now < LATEST) return [ok(`This machine's clock says ${time}.`)]
  return [error(`This machine's clock says ${time}, which cannot be right.`, 'Set it with NTP.')]
}

/** Checks whether the clock agrees with the store's clock, and with the newest token. */
export async function checkStoreClock(inspector: Inspector, now: () => number): Promise<Finding[]> {
  const offset = Math.round(await inspector.clockOffset())
  if (Math.abs(offset) > CLOCK_TOLERANCE) {
    const text = `This machine's clock and the database's are ${Math.abs(offset)} ms apart.`
    return [error(text, 'Set both with NTP: until then this node is not ready.')]
  }
  const tokens = await inspector.tokens()
  const ahead = (tokens?.newestAt ?? 0) - now()
  if (ahead <= CLOCK_TOLERANCE) return [ok('No token was issued in the future.')]
  const text = `The newest token was issued ${Math.round(ahead / 1000)} s in the future: a clock was ahead, or has been set back.`
  return [error(text, 'Set it with NTP.')]
}

/** Free bytes. With less, the next checkpoint may fail. */
const VERY_LITTLE_FREE = 100 * 1024 ** 2
/** Free bytes. The write-ahead log may grow to this size before changes are refused. */
const LITTLE_FREE = 1024 ** 3
const FEW_INODES = 1000

export async function checkDisk(location: SqliteLocation): Promise<Finding[]> {
  const { folder: real, database, log } = await describeStoreFiles(location)
  const used = (database?.size ?? 0) + (log?.size ?? 0)
  // That of the database, even if its path is a link.
  const folder = real?.path ?? dirname(resolve(location.file))
  const { bavail, bsize, files, ffree } = await statfs(nearestExisting(folder))
  return diskFindings(folder, { used, free: bavail * bsize, inodes: files, freeInodes: ffree })
}

function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(dirname(folder))
}

/** `used` is the size of the database. Sizes are in bytes. `inodes` is 0 if the file system has no limit. */
export function diskFindings(
  folder: string,
  { used, free, inodes, freeInodes }: Record<'used' | 'free' | 'inodes' | 'freeInodes', number>,
): Finding[] {
  const text = `${sizeText(free)} are free on the disk of ${folder}.`
  const advice = 'Free some space: on a full disk no tokens can be issued and nothing can be changed.'
  if (inodes > 0 && freeInodes < FEW_INODES) {
    return [error(`The file system of ${folder} has ${freeInodes} inodes left.`, 'Delete some files there.')]
  }
  if (free < VERY_LITTLE_FREE) return [error(text, advice)]
  if (free < LITTLE_FREE) return [warning(text, advice)]
  if (free < used) return [warning(text, 'There is no space for a backup or a restore next to the database.')]
  return [ok(text)]
}

/** Open files: each connection takes one, and each process some more. */
const FEW_FILES = 4096

export async function checkProgram(): Promise<Finding[]> {
  return [ok(`This is token-server ${VERSION}.`), ...versionFindings(NODE_VERSION, await sqliteVersion())]
}

export function versionFindings(node: string, sqlite: string): [node: Finding, sqlite: Finding] {
  const isSupported = OLDEST_NODES.some((old) => isAtLeast(node, old) && node.split('.')[0] === old.split('.')[0])
  const advice = `Install Node.js ${OLDEST_NODES.join(' or ')}, or a later one of the same line.`
  return [
    isSupported ? ok(`Node.js is ${node}.`) : error(`Node.js is ${node}, which is not supported.`, advice),
    isAtLeast(sqlite, OLDEST_SQLITE)
      ? ok(`SQLite is ${sqlite}.`)
      : error(`SQLite is ${sqlite}: versions before ${OLDEST_SQLITE} can lose commits.`, 'Run npm ci.'),
  ]
}

/** Checks how many files a process started like this one may open. Linux only. */
export async function checkLimits(file = '/proc/self/limits'): Promise<Finding[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  const limit = /^Max open files +(\d+|unlimited)/m.exec(text)?.[1]
  if (limit === undefined) return []
  const found = `A process started like this one may open ${limit} files and connections.`
  if (limit === 'unlimited' || Number(limit) >= FEW_FILES) return [ok(found)]
  return [warning(found, 'Raise the limit (ulimit -n, LimitNOFILE): each connection counts.')]
}
