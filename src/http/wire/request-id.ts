import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyReply } from 'fastify'

/** Shorter than a token, which has 64 characters and must not get into the log. */
const WELL_FORMED = /^[\w.:#+/=-]{1,63}$/

/** Gives a caller back the ids under which it knows its request. Ids are not made: who has none does not look for one. */
export function returnRequestId(headers: IncomingHttpHeaders, reply: FastifyReply): void {
  const requestId = headers['x-request-id']
  const correlationId = headers['x-correlation-id']
  if (requestId !== undefined && isWellFormed(requestId)) reply.header('x-request-id', requestId)
  if (correlationId !== undefined && isWellFormed(correlationId)) reply.header('x-correlation-id', correlationId)
}

/** The id of a request, if its caller gave it one. */
export function requestIdOf(headers: IncomingHttpHeaders): string | undefined {
  return [headers['x-request-id'], headers['x-correlation-id']].find(isWellFormed) as string | undefined
}

function isWellFormed(id: string | string[] | undefined): boolean {
  return typeof id === 'string' && WELL_FORMED.test(id)
}
