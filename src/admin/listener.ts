import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { existsSync, linkSync, lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { OperatorError } from '../domain/operator-error.ts'
import { hostInUrl } from '../web/address.ts'

/** The umask for a new socket: only its owner may connect. */
const OWNER_ONLY = 0o177

/** Makes the server listen. Resolves to its address. Throws OperatorError if it cannot listen. */
export async function listenForAdmin(
  server: Server,
  place: { host: string; port: number } | { socket: string },
  scheme: 'http' | 'https' = 'http',
): Promise<string> {
  if ('socket' in place) {
    await withoutStaleSocket(place.socket, () => startListening(server, () => listenOnSocket(server, place.socket)))
    return `unix:${place.socket}`
  }
  const { host, port } = place
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    await startListening(server, () => server.listen(port, address))
  } catch (cause) {
    const { message } = cause as Error
    throw new OperatorError(`Cannot listen on ADMIN_ADDRESS, ${hostInUrl(host)}:${port}: ${message}.`, { cause })
  }
  const { address, port: bound } = server.address() as AddressInfo
  return `${scheme}://${hostInUrl(address)}:${bound}`
}

/** The socket is created before `listen` returns, so setting the umask around it is enough. */
function listenOnSocket(server: Server, path: string): void {
  const before = process.umask(OWNER_ONLY)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
}

/** Starts listening. Rejects if that fails. Later errors, of connections that cannot be accepted, are ignored. */
async function startListening(server: Server, listen: () => void): Promise<void> {
  const started = once(server, 'listening')
  server.on('error', () => {})
  listen()
  await started
}

/** The longest time from creating a socket to accepting connections. */
const STARTUP_MS = 100

/**
 * Listens on a Unix socket, and first removes the socket that a killed server left behind. Throws OperatorError if another
 * server answers there, if the file is not a socket, or if the folder does not exist.
 */
export async function withoutStaleSocket(
  path: string,
  listen: () => Promise<void>,
  pause: () => Promise<void> = () => sleep(STARTUP_MS),
): Promise<void> {
  const failure = (reason: string, cause?: unknown) =>
    new OperatorError(`Cannot listen on ADMIN_ADDRESS, unix:${path}: ${reason}.`, { cause })
  try {
    await listen().catch(async (cause: NodeJS.ErrnoException) => {
      if (cause.code !== 'EADDRINUSE') throw cause
      const stale = lstatSync(path)
      if (!stale.isSocket()) throw failure('the file exists and is not a socket')
      // Tried twice, because another server may be starting.
      const isServed = (await accepts(path)) || (await pause().then(() => accepts(path)))
      if (isServed) throw failure('another server answers there')
      if (!remove(path, stale)) throw failure('another server has just started there')
      await listen()
    })
  } catch (cause) {
    if (cause instanceof OperatorError) throw cause
    throw failure(existsSync(dirname(path)) ? (cause as Error).message : 'its folder does not exist', cause)
  }
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
 * Removes the stale socket, unless another starting server has replaced it. Returns whether it was removed. The file is
 * renamed first, because only one of several servers can rename it.
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
