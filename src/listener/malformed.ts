import { type IncomingMessage, type OutgoingHttpHeaders, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { endConnection } from './ending.ts'
import { pipelineOf } from './pipeline.ts'

/** Why there is no request to answer. */
export type MalformedReason = 'not HTTP' | 'request too slow' | 'headers too large'

/** By the error codes of Node.js. */
const REASONS: Record<string, MalformedReason> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request too slow',
  HPE_HEADER_OVERFLOW: 'headers too large',
}

/** The status of each answer. */
export const MALFORMED_STATUSES: Record<MalformedReason, number> = {
  'not HTTP': 400,
  'request too slow': 408,
  'headers too large': 431,
}

/** The reason for an error that Node.js reports to `clientError`. */
export function malformedReason({ code }: { code?: string | undefined }): MalformedReason {
  return REASONS[String(code)] ?? 'not HTTP'
}

/**
 * Sends the final response of a connection, behind those that are due, and ends it. Returns false if nothing was sent, because
 * the client has gone or the last response has left.
 */
export function sendFinal(
  socket: Socket,
  { status, headers, body }: { status: number; headers: OutgoingHttpHeaders; body: string },
): boolean {
  const all = { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  const finalResponse = [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n')
  return endConnection(socket, { finalResponse })
}

/** The request of a connection whose body could not be read to its end, if there is one. */
export function unreadRequest(socket: Socket): IncomingMessage | undefined {
  const { last } = pipelineOf(socket)
  return last?.req.complete === false ? last.req : undefined
}
