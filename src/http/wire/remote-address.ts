import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'

/** The caller's address: what trusted proxies say, if that is an address, and the other side's of the connection if not. */
export function remoteAddressOf(request: FastifyRequest): string {
  const { ip } = request
  return isIP(ip) === 0 ? String(request.socket.remoteAddress) : ip
}
