import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Event, Observer } from '../../domain/events.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import {
  AUTHENTICATION_REASONS,
  type ErrorAnswer,
  REQUEST_REASONS,
  type ReportedReason,
  type RequestReason,
} from '../../domain/reasons.ts'
import { AuthenticationRefused, RequestRefused } from '../../domain/refusal.ts'
import { requestIdOf } from '../../domain/request-id.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import type { Issuer } from '../../issuer/issuer.ts'
import { type MalformedReason, sendFinal, unreadRequest } from '../../listener/malformed.ts'
import { pipelineOf } from '../../listener/pipeline.ts'
import { basicClientId } from './authorization.ts'
import type { LateAnswers } from './late-answers.ts'
import { OTHER, setEndpoint } from './measured-answers.ts'
import { requestContext, sendRequestId, traceIdOf } from './request.ts'

/** Headers of every answer: no cache keeps it (RFC 6749 §5.1), and browsers do not guess its type. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' }

export const JSON_TYPE = 'application/json; charset=utf-8'

interface RefuseOptions {
  observe: Observer
  issuer: Issuer
  late?: LateAnswers
}

declare module 'fastify' {
  /** How a route answers errors. */
  interface FastifyContextConfig {
    challenge?: string
    challengeToHeader?: string
    /** Instead of `sendError`. */
    showError?: (reply: FastifyReply, answer: ErrorAnswer, field: string | undefined) => unknown
  }
}

/**
 * The error handler: answers every error as in RFC 6749 §5.2, and reports it as one event. Delays answers of 429. Returns
 * nothing: for a returned reply Fastify would wait until it is sent, which is expensive (docs/performance).
 */
export function refuse(
  { observe, issuer, late }: RefuseOptions,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const answer: ErrorAnswer =
    error instanceof AuthenticationRefused ? AUTHENTICATION_REASONS[error.reason] : REQUEST_REASONS[reasonOf(error)]
  // Read once: Fastify creates this object on every access.
  const { url: endpoint, config } = request.routeOptions
  // The hook that does this may not have run.
  setEndpoint(reply.raw, endpoint)
  const event = eventOf(error, { status: answer.status, ...requestContext(request, endpoint) })
  // createMalformedAnswers reports a client that closes the connection while it sends a body.
  if (error !== request.raw.errored) report(event, request, { observe, issuer })

  const { challenge, challengeToHeader, showError = sendError } = config
  // Fastify refuses a malformed path before the hook that sets these for every answer.
  reply.headers(ANSWER_HEADERS)
  sendRequestId(request, reply)
  const ownChallenge = challenge ?? (request.headers.authorization === undefined ? undefined : challengeToHeader)
  if (answer.status === 401 && ownChallenge !== undefined) reply.header('www-authenticate', ownChallenge)
  const { field, headers, retryAfter } = error instanceof RequestRefused ? error.details : {}
  if (answer.status === 503) reply.header('retry-after', '5')
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  if (headers) reply.headers(headers)
  const send = () => void showError(reply, answer, field)
  if (answer.status === 429 && late) late.delay(request, reply, send)
  else send()
}

/** Reports a request of an application that would be refused, if an operator did not have that only reported. */
export function reportOnly(observe: Observer, reason: ReportedReason, clientId: string, request: FastifyRequest): void {
  const context = requestContext(request, request.routeOptions.url)
  observe({ type: 'request would be refused', reason, clientId, ...context })
}

export function sendError(reply: FastifyReply, answer: ErrorAnswer, field?: string): void {
  reply.code(answer.status).type(JSON_TYPE).send(errorBody(answer, field))
}

/** Bodies without a field, made once. */
const bodies = new Map<ErrorAnswer, string>()

/** The body of RFC 6749 §5.2. Characters that are invalid in a description become `?`. */
export function errorBody(answer: ErrorAnswer, field = ''): string {
  const known = field === '' ? bodies.get(answer) : undefined
  if (known !== undefined) return known
  const text = describe(answer, field).replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?')
  const body = JSON.stringify({ error: answer.code, error_description: text })
  if (field === '') bodies.set(answer, body)
  return body
}

export function describe({ description }: ErrorAnswer, field = ''): string {
  return description.replace('{field}', () => field)
}

/** Reports an event, with the client id of the request if it is registered: an unregistered one may be a secret. */
function report(event: Event, request: FastifyRequest, { observe, issuer }: RefuseOptions): void {
  const isRefused = event.type === 'request refused'
  // The event `too many failures` already has it.
  const clientId = isRefused && event.reason !== 'too many failures' ? sentClientId(request) : undefined
  if (clientId === undefined || !isRefused) observe(event)
  else {
    void issuer.isRegistered(clientId).then(
      (isRegistered) => observe(isRegistered ? { ...event, clientId } : event),
      () => observe(event),
    )
  }
}

/** The client id in the body or, if that has none, in the Authorization header. */
function sentClientId({ body, headers }: FastifyRequest): string | undefined {
  const { client_id: clientId } = (body ?? {}) as { client_id?: unknown }
  return typeof clientId === 'string' ? clientId : basicClientId(headers.authorization)
}

function reasonOf(error: unknown): RequestReason {
  if (error instanceof RequestRefused) return error.reason
  // This is an OperatorError if the store has moved and cannot be changed.
  if (error instanceof StoreUnavailable || error instanceof OperatorError) return 'store unavailable'
  const { code, statusCode = 500 } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return 'body too large'
  return statusCode < 500 ? 'request malformed' : 'unexpected error'
}

function eventOf(error: unknown, answered: { status: number } & ReturnType<typeof requestContext>): Event {
  if (error instanceof AuthenticationRefused) {
    const { reason, clientId, detail } = error
    return { type: 'authentication refused', reason, clientId, detail, ...answered }
  }
  const reason = reasonOf(error)
  const { field, isKnownField, clientId, suite } = error instanceof RequestRefused ? error.details : {}
  if (reason === 'token quota exceeded') return { type: 'quota refusal', clientId: String(clientId), ...answered }
  if (reason === 'no credentials') return { type: 'authentication refused', reason, clientId: undefined, ...answered }
  if (answered.status >= 500) return { type: 'request failed', reason, err: error, ...answered }
  return { type: 'request refused', reason, field: isKnownField ? field : undefined, clientId, suite, ...answered }
}

/**
 * Returns a function that answers input that is not a valid request, and ends the connection. The event has no part of the input,
 * which may be a secret, except the ids of the request if its headers could be read.
 */
export function createMalformedAnswers({ observe, measure }: { observe: Observer; measure?: Observer | undefined }) {
  return (reason: MalformedReason, socket: Socket, request = unreadRequest(socket)): void => {
    const answer = REQUEST_REASONS[reason]
    const { status } = answer
    const sentHeaders = request?.headers ?? {}
    const requestId = requestIdOf(sentHeaders)
    const headers = { ...ANSWER_HEADERS, 'x-request-id': requestId, 'content-type': JSON_TYPE }
    if (!sendFinal(socket, { status, headers, body: errorBody(answer) })) return
    const { last } = pipelineOf(socket)
    // If the body of the last request could not be read, this is its response.
    if (last?.req.complete === false) last.report?.(status)
    else measure?.({ type: 'request answered', endpoint: OTHER, status, seconds: undefined })
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
}
