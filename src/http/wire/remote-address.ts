import { isIP } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { withoutZone } from '../../domain/address.ts'

/**
 * The caller's address: what trusted proxies say, if that is an address, and the other side's of the connection if not. A
 * zone (RFC 4007 §11) is left out: it may be any text.
 */
export function remoteAddressOf(request: FastifyRequest): string {
  const { ip } = request
  const address = isIP(ip) === 0 ? withoutPort(ip) : ip
  return withoutZone(isIP(address) === 0 ? String(request.socket.remoteAddress) : address)
}

/** Some proxies add the port: `192.0.2.1:5678`, `[2001:db8::1]:5678`. */
function withoutPort(text: string): string {
  const [, inBrackets, plain] = /^(?:\[([^\]]+)\]|([^:]+))(?::\d{1,5})?$/.exec(text) ?? []
  return inBrackets ?? plain ?? text
}
