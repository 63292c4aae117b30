import { readFile, realpath, stat } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import type { SqliteLocation } from '../domain/database-location.ts'
import { error, type Finding } from './finding.ts'

/** The byte of the -shm file that SQLite locks while it writes. */
const WRITE_LOCK = 120

/** A process that is found in all looks has not just written. */
const LOOKS = 5
const PAUSE_MS = 200

/** On Linux, finds the process that has held the write lock of SQLite for a second: no token can be issued meanwhile. */
export async function checkWriteLock({ file }: SqliteLocation): Promise<Finding[]> {
  const inode = await inodeOf(file).catch(() => 0)
  const holder = await holderOf(inode)
  for (let n = 1; n < LOOKS; n++) {
    if (holder === undefined || (await holderOf(inode)) !== holder) return []
    await setTimeout(PAUSE_MS)
  }
  const name = (await contentOf(`/proc/${holder}/comm`)).trim()
  const text = `Process ${holder} (${name}) has locked the database for a second: no token can be issued.`
  return [error(text, 'End it, if it hangs.')]
}

/** Of the file beside the database, even if its path is a link. */
async function inodeOf(file: string): Promise<number> {
  return (await stat(`${await realpath(file)}-shm`)).ino
}

async function holderOf(inode: number): Promise<string | undefined> {
  const locks = await contentOf('/proc/locks')
  return new RegExp(`WRITE (\\d+) \\w+:\\w+:${inode} ${WRITE_LOCK} `).exec(locks)?.[1]
}

/** Empty where there is no such file. */
function contentOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}
