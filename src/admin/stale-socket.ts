import { once } from 'node:events'
import { existsSync, linkSync, lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../domain/operator-error.ts'

/** Between the file of a socket and the first moment that it answers. */
const BEGIN_MS = 100

/**
 * Listens on a Unix socket. Where its file is there already, that of a server that was killed is removed first. Throws
 * OperatorError where another server answers there, where the file is no socket, and where there is no such folder.
 */
export async function withoutStaleSocket(
  path: string,
  listen: () => Promise<void>,
  pause: () => Promise<void> = () => sleep(BEGIN_MS),
): Promise<void> {
  const failure = (reason: string, cause?: unknown) =>
    new OperatorError(`Cannot listen on ADMIN_ADDRESS, unix:${path}: ${reason}.`, { cause })
  try {
    await listen().catch(async (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE') throw cause
      const stale = lstatSync(path)
      if (!stale.isSocket()) throw failure('a file that is no socket is there')
      if (await answers(path, pause)) throw failure('another server answers there')
      if (!remove(path, stale)) throw failure('another server has just begun there')
      await listen()
    })
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause
    throw failure(existsSync(dirname(path)) ? (cause as Error).message : 'its folder does not exist', cause)
  }
}

/** Asked twice: another server may be about to begin. */
async function answers(path: string, pause: () => Promise<void>): Promise<boolean> {
  if (await accepts(path)) return true
  await pause()
  return accepts(path)
}

async function accepts(path: string): Promise<boolean> {
  const socket = connect(path)
  const isAccepted = once(socket, 'connect').then(
    () => true,
    (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'ECONNREFUSED') throw cause
      return false
    },
  )
  return isAccepted.finally(() => socket.destroy())
}

/**
 * Removes the file if it is still this one. Returns whether it was: another server that begins may have replaced it. It is
 * moved aside first, for only one of several servers can do that.
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
