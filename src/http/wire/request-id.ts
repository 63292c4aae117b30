import type { FastifyReply, FastifyRequest } from 'fastify'
import { sentId } from '../../domain/request-id.ts'

/** Tells a caller the id of its request, and gives it back its X-Correlation-Id. */
export function tellRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  const correlationId = sentId(request.headers, 'x-correlation-id')
  if (correlationId !== undefined) reply.header('x-correlation-id', correlationId)
}
