import type { Socket } from 'node:net'
import { newRequestId } from '../../domain/request-id.ts'
import { MALFORMED_STATUSES, type MalformedReason, sendFinal } from '../../listener/malformed.ts'
import { ANSWER_HEADERS } from './headers.ts'
import { PROBLEM_TYPE, problemText } from './problem.ts'

const DETAILS: Record<MalformedReason, string> = {
  'not HTTP': 'This request cannot be read.',
  'request too slow': 'The request took too long.',
  'headers too large': 'The headers are too large.',
}

/** Answers what is not a valid request, and ends the connection. */
export function answerMalformed(reason: MalformedReason, socket: Socket): void {
  const status = MALFORMED_STATUSES[reason]
  const headers = { ...ANSWER_HEADERS, 'x-request-id': newRequestId(), 'content-type': PROBLEM_TYPE }
  sendFinal(socket, { status, headers, body: problemText({ status, detail: DETAILS[reason] }) })
}
