import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Observer } from '../../domain/events.ts'
import { REQUEST_REASONS } from '../../domain/reasons.ts'
import { requestIdOf } from '../../domain/request-id.ts'
import { type MalformedReason, sendFinal, unreadRequest } from '../../listener/malformed.ts'
import { pipelineOf } from '../../listener/pipeline.ts'
import { OTHER } from './measured-answers.ts'
import { ANSWER_HEADERS, errorBody, JSON_TYPE } from './refuse.ts'
import { traceIdOf } from './request.ts'

/**
 * Answers what is not a valid request, and ends the connection. The event has none of its bytes: they may be a secret. Of a
 * request whose headers could be read it has the id.
 */
export function answerMalformed(
  { observe, measure }: { observe: Observer; measure?: Observer | undefined },
  reason: MalformedReason,
  socket: Socket,
  request: Pick<IncomingMessage, 'headers'> | undefined = unreadRequest(socket),
): void {
  const answer = REQUEST_REASONS[reason]
  const { status } = answer
  const sentHeaders = request?.headers ?? {}
  const requestId = requestIdOf(sentHeaders)
  const headers = { ...ANSWER_HEADERS, 'x-request-id': requestId, 'content-type': JSON_TYPE }
  if (!sendFinal(socket, { status, headers, body: errorBody(answer) })) return
  measureFinal(measure, status, socket)
  observe({
    type: 'request refused',
    reason,
    field: undefined,
    status,
    endpoint: undefined,
    requestId,
    traceId: traceIdOf(sentHeaders),
    remoteAddress: String(socket.remoteAddress),
  })
}

/** The final response is that to the last request, if that began and could not be read to its end. */
function measureFinal(measure: Observer | undefined, status: number, socket: Socket): void {
  const { last } = pipelineOf(socket)
  if (last?.req.complete === false) last.report?.(status)
  else measure?.({ type: 'request answered', endpoint: OTHER, status, seconds: undefined })
}
