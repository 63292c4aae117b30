import type { FastifyRequest } from 'fastify'
import { remoteAddressOf } from './remote-address.ts'
import { shownPath } from './target.ts'
import { traceIdOf } from './trace-context.ts'

/** Who asked, and how the request is found again: what every event that it causes has. */
export function askedBy(request: FastifyRequest) {
  return { requestId: request.id, traceId: traceIdOf(request.headers), remoteAddress: remoteAddressOf(request) }
}

/** The same, and what was asked for; `endpoint` is the route's pattern. */
export function askedFor(request: FastifyRequest, endpoint: string | undefined) {
  const path = endpoint === undefined ? shownPath(request.url) : undefined
  return { method: request.method, endpoint, path, ...askedBy(request) }
}
