import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { hostInUrl } from '../domain/address.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { withoutStaleSocket } from './stale-socket.ts'

/** An address, or the path of a Unix socket. */
type ListenAddress = { host: string; port: number } | { socket: string }

/** The umask for a new socket: only its owner may connect. */
const OWNER_ONLY = 0o177

/** Makes the app listen. Resolves to its address. Throws OperatorError if it cannot listen. */
export async function listenForAdmin(app: FastifyInstance, place: ListenAddress): Promise<string> {
  await app.ready()
  // Fastify's own listen() opens a second server for `localhost` (IPv4 and IPv6), without the app's event listeners.
  const { server } = app
  if ('socket' in place) {
    await withoutStaleSocket(place.socket, () => listening(server, () => listenOnSocket(server, place.socket)))
    return `unix:${place.socket}`
  }
  const { host, port } = place
  try {
    const { address } = await lookup(host, { order: 'ipv4first' })
    await listening(server, () => server.listen(port, address))
  } catch (cause) {
    const { message } = cause as Error
    throw new OperatorError(`Cannot listen on ADMIN_ADDRESS, ${hostInUrl(host)}:${port}: ${message}.`, { cause })
  }
  const { address, port: bound } = server.address() as AddressInfo
  return `http://${hostInUrl(address)}:${bound}`
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

/** Rejects if listening fails. Later errors are connections that could not be accepted, and are ignored. */
async function listening(server: Server, listen: () => void): Promise<void> {
  const started = once(server, 'listening')
  server.on('error', () => {})
  listen()
  await started
}
