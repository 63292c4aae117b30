import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Observer } from '../../domain/events.ts'
import type { RequestReason } from '../../domain/refusal.ts'
import { endConnection } from './ending.ts'
import { errorBody, REFUSALS } from './refusals.ts'
import { ANSWER_HEADERS, JSON_TYPE } from './refuse.ts'

/** Why there is no request, by Node.js's name for it. Undefined: the client is at fault for nothing that it could be told. */
const REASONS: Record<string, RequestReason> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request too slow',
  HPE_HEADER_OVERFLOW: 'headers too large',
}

/**
 * Answers what never became a request, behind the answers that are due, and ends the connection. The event has none of the
 * bytes: they may be a secret.
 */
export function answerMalformed(observe: Observer, error: Error & { code?: string }, socket: Socket): void {
  const reason = REASONS[String(error.code)] ?? 'not HTTP'
  const answer = REFUSALS[reason]
  const body = errorBody(answer)
  const headers = { ...ANSWER_HEADERS, 'content-type': JSON_TYPE, 'content-length': body.length, connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const farewell = [`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`, ...lines, '', body].join('\r\n')
  if (!endConnection(socket, { farewell })) return
  const remoteAddress = String(socket.remoteAddress)
  observe({
    type: 'request refused',
    reason,
    field: undefined,
    status: answer.status,
    endpoint: undefined,
    remoteAddress,
  })
}
