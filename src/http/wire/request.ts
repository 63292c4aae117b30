import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { addressIn, withoutZone } from '../../domain/address.ts'
import { sentId } from '../../domain/request-id.ts'
import { shownPath } from './target.ts'

/** Who asked, and how the request is found again: what every event that it causes has. */
export function askedBy(request: FastifyRequest) {
  return { requestId: request.id, traceId: traceIdOf(request.headers), remoteAddress: remoteAddressOf(request) }
}

/** The same, and what was asked for; `endpoint` is the route's pattern. */
export function askedFor(request: FastifyRequest, endpoint: string | undefined) {
  const path = endpoint === undefined ? shownPath(request.url) : undefined
  return { method: request.method, endpoint, path, ...askedBy(request) }
}

/** Tells a caller the id of its request, and gives it back its X-Correlation-Id. */
export function tellRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  const correlationId = sentId(request.headers, 'x-correlation-id')
  if (correlationId !== undefined) reply.header('x-correlation-id', correlationId)
}

/** The caller's address: what trusted proxies say, if that is an address, and the other side's of the connection if not. */
function remoteAddressOf(request: FastifyRequest): string {
  return addressIn(request.ip) ?? withoutZone(String(request.socket.remoteAddress))
}

/**
 * VERSION-TRACE-PARENT-FLAGS. Version ff is none; version 00 ends there, and what later ones have behind it is unknown. A
 * trace or a parent of zeros is invalid.
 */
const TRACEPARENT = /^(?!ff)(?!00.{53}.)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Characters. Version 00 has 55; what is kept of a header keeps all of it in memory. */
const MAX_LENGTH = 128

/** The id of the trace that a request is a part of, if its caller says so: W3C Trace Context §3.2, §4.3. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_LENGTH) return undefined
  return TRACEPARENT.exec(traceparent)?.[1]
}
