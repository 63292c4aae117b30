import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isRequestId, newRequestId } from '../../domain/request-id.ts'

/** The id of a request: the caller's X-Request-Id, or else its X-Correlation-Id, where that is one; or else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  return sentId(headers, 'x-request-id') ?? sentId(headers, 'x-correlation-id') ?? newRequestId()
}

/** Tells a caller the id of its request, and gives it back its X-Correlation-Id. */
export function tellRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  const correlationId = sentId(request.headers, 'x-correlation-id')
  if (correlationId !== undefined) reply.header('x-correlation-id', correlationId)
}

function sentId(headers: IncomingHttpHeaders, name: 'x-request-id' | 'x-correlation-id'): string | undefined {
  const id = headers[name]
  return typeof id === 'string' && isRequestId(id) ? id : undefined
}
