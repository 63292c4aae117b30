import type { FastifyRequest } from 'fastify'
import { addressIn, withoutZone } from '../../domain/address.ts'

/** The caller's address: what trusted proxies say, if that is an address, and the other side's of the connection if not. */
export function remoteAddressOf(request: FastifyRequest): string {
  return addressIn(request.ip) ?? withoutZone(String(request.socket.remoteAddress))
}
