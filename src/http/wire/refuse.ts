import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { Event, Observer } from '../../domain/events.ts'
import { AUTHENTICATION_REASONS, type ErrorAnswer, REQUEST_REASONS, type RequestReason } from '../../domain/reasons.ts'
import { AuthenticationRefused, RequestRefused } from '../../domain/refusal.ts'
import { requestIdOf } from '../../domain/request-id.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import type { Issuer } from '../../issuer/issuer.ts'
import { type MalformedReason, sendFinal, unreadRequest } from '../../listener/malformed.ts'
import { pipelineOf } from '../../listener/pipeline.ts'
import { basicClientId } from './authorization.ts'
import type { LateAnswers } from './late-answers.ts'
import { nameEndpoint, OTHER } from './measured-answers.ts'
import { askedFor, tellRequestId, traceIdOf } from './request.ts'

/** What every answer says: no cache keeps it (RFC 6749 §5.1), and its type is the one that it has. */
export const ANSWER_HEADERS = { 'cache-control': 'no-store', pragma: 'no-cache', 'x-content-type-options': 'nosniff' }

export const JSON_TYPE = 'application/json; charset=utf-8'

const RETRY_AFTER_SECONDS = '5'

/** What a route may say of itself in its `config`. */
export interface RouteConfig {
  /** The WWW-Authenticate header of its 401s, RFC 9110 §11.6.1. */
  challenge?: string
}

export interface RefuseOptions {
  observe: Observer
  issuer: Pick<Issuer, 'isRegistered'>
  late?: LateAnswers
}

/**
 * The one error handler: whatever is thrown leaves as an error answer of RFC 6749 §5.2, and is said as one event. What is
 * refused for its number leaves late. Returns nothing: for a returned reply Fastify would wait until it is sent, which is
 * expensive (docs/performance).
 */
export function refuse(
  { observe, issuer, late }: RefuseOptions,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const answer = answerTo(error)
  // Read once: Fastify makes this object for every look at it.
  const { url: endpoint, config } = request.routeOptions
  // It may be refused before its route is looked at.
  nameEndpoint(reply.raw, endpoint)
  const event = eventOf(error, { status: answer.status, ...askedFor(request, endpoint) })
  // Who ends a connection within a body is said where that is seen, if it is said (malformed.ts).
  if (error !== request.raw.errored) say(event, request, { observe, issuer })

  const { challenge } = config as RouteConfig
  // Fastify refuses a malformed path before the hook that sets these for every answer.
  reply.headers(ANSWER_HEADERS)
  tellRequestId(request, reply)
  if (answer.status === 401 && challenge !== undefined) reply.header('www-authenticate', challenge)
  const { field, headers, retryAfter } = error instanceof RequestRefused ? error.details : {}
  if (answer.status === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (retryAfter !== undefined) reply.header('retry-after', retryAfter)
  if (headers) reply.headers(headers)
  const send = () => sendError(reply, answer, field)
  if (answer.status === 429 && late) late.give(request, reply, send)
  else send()
}

/** Sends an error answer. */
export function sendError(reply: FastifyReply, answer: ErrorAnswer, field?: string): void {
  reply.code(answer.status).type(JSON_TYPE).send(errorBody(answer, field))
}

/** The body of RFC 6749 §5.2; what it does not allow in a description becomes `?`. */
export function errorBody({ code, description }: ErrorAnswer, field = ''): string {
  const text = description.replace('{field}', () => field)
  return JSON.stringify({ error: code, error_description: text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?') })
}

function say(
  event: Event,
  request: FastifyRequest,
  { observe, issuer }: Pick<RefuseOptions, 'observe' | 'issuer'>,
): void {
  const named = event.type === 'request refused' ? withClient(event, request, issuer) : undefined
  if (named) void named.then(observe)
  else observe(event)
}

/**
 * The event with the client id that was sent, if there is such a client: what is none may be a secret in the wrong field.
 * Undefined where there is nobody to be looked for. So it is where too many failed: who that was is known by then.
 */
function withClient(
  event: Extract<Event, { type: 'request refused' }>,
  request: FastifyRequest,
  issuer: RefuseOptions['issuer'],
): Promise<Event> | undefined {
  const clientId = event.reason === 'too many failures' ? undefined : sentClientId(request)
  if (clientId === undefined) return undefined
  return issuer.isRegistered(clientId).then(
    (isRegistered) => (isRegistered ? { ...event, clientId } : event),
    () => event,
  )
}

/** In the body; or in a header, where that is what is wrong. */
function sentClientId({ body, headers }: FastifyRequest): string | undefined {
  const { client_id: clientId } = (body ?? {}) as { client_id?: unknown }
  return typeof clientId === 'string' ? clientId : basicClientId(headers.authorization)
}

function answerTo(error: unknown): ErrorAnswer {
  return error instanceof AuthenticationRefused
    ? AUTHENTICATION_REASONS[error.reason]
    : REQUEST_REASONS[reasonOf(error)]
}

function reasonOf(error: unknown): RequestReason {
  if (error instanceof RequestRefused) return error.reason
  if (error instanceof StoreUnavailable) return 'store unavailable'
  const { code, statusCode = 500 } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return 'body too large'
  return statusCode < 500 ? 'request malformed' : 'unexpected error'
}

function eventOf(error: unknown, answered: { status: number } & ReturnType<typeof askedFor>): Event {
  if (error instanceof AuthenticationRefused) {
    const { reason, clientId } = error
    return { type: 'authentication refused', reason, clientId, ...answered }
  }
  const reason = reasonOf(error)
  const { field, isKnownField, clientId, suite } = error instanceof RequestRefused ? error.details : {}
  if (reason === 'token quota exceeded') return { type: 'quota refusal', clientId: String(clientId), ...answered }
  if (reason === 'no credentials') return { type: 'authentication refused', reason, clientId: undefined, ...answered }
  if (answered.status >= 500) return { type: 'request failed', reason, err: error, ...answered }
  return { type: 'request refused', reason, field: isKnownField ? field : undefined, clientId, suite, ...answered }
}

/**
 * Returns a function that answers what is not a valid request, and ends the connection. The event has none of its bytes: they
 * may be a secret. Of a request whose headers could be read it has the id.
 */
export function createMalformedAnswers({ observe, measure }: { observe: Observer; measure?: Observer | undefined }) {
  return (reason: MalformedReason, socket: Socket, request = unreadRequest(socket)): void => {
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
}

/** The final response is that to the last request, if that began and could not be read to its end. */
function measureFinal(measure: Observer | undefined, status: number, socket: Socket): void {
  const { last } = pipelineOf(socket)
  if (last?.req.complete === false) last.report?.(status)
  else measure?.({ type: 'request answered', endpoint: OTHER, status, seconds: undefined })
}
