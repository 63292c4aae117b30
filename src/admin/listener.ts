import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { hostInUrl } from '../domain/address.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { withoutStaleSocket } from './stale-socket.ts'

/** An address, or the path of a Unix socket. */
type Place = { host: string; port: number } | { socket: string }

/** What a new socket does not allow: everything to everybody but its owner. */
const OWNER_ONLY = 0o177

/** Lets the app listen until it is closed. Resolves to where that is; throws OperatorError where it cannot. */
export async function listenForAdmin(app: FastifyInstance, place: Place): Promise<string> {
  await app.ready()
  // Fastify would listen on all addresses of `localhost`, with servers that have none of the app's listeners.
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

/** The file is made before `listen` returns, so that it never has another mode. */
function listenOnSocket(server: Server, path: string): void {
  const before = process.umask(OWNER_ONLY)
  try {
    server.listen(path)
  } finally {
    process.umask(before)
  }
}

/** Rejects with what is said while it begins. Later errors are of connections that cannot be accepted: they end nothing. */
async function listening(server: Server, listen: () => void): Promise<void> {
  const begun = once(server, 'listening')
  server.on('error', () => {})
  listen()
  await begun
}
