import { type IncomingMessage, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Observer } from '../../domain/events.ts'
import type { RequestReason } from '../../domain/refusal.ts'
import { requestIdOf } from '../../domain/request-id.ts'
import { endConnection } from './ending.ts'
import { OTHER } from './measured-answers.ts'
import { pipelineOf } from './pipeline.ts'
import { errorBody, REFUSALS } from './refusals.ts'
import { ANSWER_HEADERS, JSON_TYPE } from './refuse.ts'
import { traceIdOf } from './trace-context.ts'

/** Why there is no request, by Node.js's name for it. Undefined: the client is at fault for nothing that it could be told. */
const REASONS: Record<string, RequestReason> = {
  ERR_HTTP_REQUEST_TIMEOUT: 'request too slow',
  HPE_HEADER_OVERFLOW: 'headers too large',
}

/**
 * Answers what never became a request, behind the answers that are due, and ends the connection. The event has none of the
 * bytes: they may be a secret. Of a request whose headers could be read it has the id.
 */
export function answerMalformed(
  { observe, measure }: { observe: Observer; measure?: Observer | undefined },
  error: Error & { code?: string },
  socket: Socket,
  request: Pick<IncomingMessage, 'headers'> | undefined = unreadRequest(socket),
): void {
  const reason = REASONS[String(error.code)] ?? 'not HTTP'
  const answer = REFUSALS[reason]
  const body = errorBody(answer)
  const asked = request?.headers ?? {}
  const requestId = requestIdOf(asked)
  const headers = {
    ...ANSWER_HEADERS,
    'x-request-id': requestId,
    'content-type': JSON_TYPE,
    'content-length': body.length,
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const farewell = [`HTTP/1.1 ${answer.status} ${STATUS_CODES[answer.status]}`, ...lines, '', body].join('\r\n')
  if (!endConnection(socket, { farewell })) return
  measureFarewell(measure, answer.status, socket)
  const remoteAddress = String(socket.remoteAddress)
  observe({
    type: 'request refused',
    reason,
    field: undefined,
    status: answer.status,
    endpoint: undefined,
    requestId,
    traceId: traceIdOf(asked),
    remoteAddress,
  })
}

/** The request whose body could not be read to its end, if there is one. */
function unreadRequest(socket: Socket): IncomingMessage | undefined {
  const { last } = pipelineOf(socket)
  return last?.req.complete === false ? last.req : undefined
}

/** It is the answer to the last request where that began and could not be read to its end. */
function measureFarewell(measure: Observer | undefined, status: number, socket: Socket): void {
  const { last } = pipelineOf(socket)
  if (last?.req.complete === false) last.say?.(status)
  else measure?.({ type: 'request answered', endpoint: OTHER, status, seconds: undefined })
}
