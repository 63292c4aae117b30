import { once } from 'node:events'
import { linkSync, lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../domain/operator-error.ts'

/** Between the file of a socket and the first moment that it answers. */
const BEGIN_MS = 100

/**
 * Listens on a Unix socket. Where its file is there already, that of a server that was killed is removed first. Throws
 * OperatorError where another server answers there, where the file is no socket, and where there is no such folder.
 */
export async function withoutStaleSocket(path: string, listen: () => Promise<void>): Promise<void> {
  const failure = (reason: string, cause?: unknown) =>
    new OperatorError(`Cannot listen on ADMIN_ADDRESS, unix:${path}: ${reason}.`, { cause })
  try {
    await listen().catch(async (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE') throw cause
      const stale = lstatSync(path)
      if (!stale.isSocket()) throw failure('a file that is no socket is there')
      if (await answers(path)) throw failure('another server answers there')
      if (!remove(path, stale)) throw failure('another server has just begun there')
      await listen()
    })
  } catch (cause) {
    throw cause instanceof OperatorError ? cause : failure((cause as Error).message, cause)
  }
}

/** Asked twice: another server may be about to begin. */
async function answers(path: string): Promise<boolean> {
  if (await accepts(path)) return true
  await sleep(BEGIN_MS)
  return accepts(path)
}

async function accepts(path: string): Promise<boolean> {
  const socket = connect(path)
  try {
    await once(socket, 'connect')
    return true
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ECONNREFUSED') return false
    throw cause
  } finally {
    socket.destroy()
  }
}

/**
 * Removes the file if it is still this one, and resolves to whether it was: two servers that begin at once may both have found it. It is moved aside first,
 * which only one of them can do.
 */
function remove(path: string, { ino, mtimeMs }: Stats): boolean {
  const aside = `${path}.${process.pid}`
  renameSync(path, aside)
  const moved = lstatSync(aside)
  const isStale = moved.ino === ino && moved.mtimeMs === mtimeMs
  if (!isStale) linkSync(aside, path)
  unlinkSync(aside)
  return isStale
}
