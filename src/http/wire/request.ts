import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { RequestRefused } from '../../domain/refusal.ts'
import { sentId } from '../../domain/request-id.ts'
import { addressIn, withoutZone } from '../../web/address.ts'

/** The client's address according to trusted proxies, or else the peer's. */
export function remoteAddressOf(request: FastifyRequest): string {
  return addressIn(request.ip) ?? withoutZone(String(request.socket.remoteAddress))
}

/** The client's address and the ids of the request: fields of its events. */
export function requesterOf(request: FastifyRequest) {
  return { requestId: request.id, traceId: traceIdOf(request.headers), remoteAddress: remoteAddressOf(request) }
}

/** The same, and the request. `endpoint` is the route's pattern; without a route, the loggable form of the path is added. */
export function requestContext(request: FastifyRequest, endpoint: string | undefined) {
  const path = endpoint === undefined ? shownPath(request.url) : undefined
  return { method: request.method, endpoint, path, ...requesterOf(request) }
}

/** Sends the client the id of its request, and sends back its X-Correlation-Id. */
export function sendRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  const correlationId = sentId(request.headers, 'x-correlation-id')
  if (correlationId !== undefined) reply.header('x-correlation-id', correlationId)
}

/** VERSION-TRACE-PARENT-FLAGS. Version ff is invalid; versions after 00 may have more parts. No id may be all zeros. */
const TRACEPARENT = /^(?!ff)(?!00.{53}.)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Version 00 has 55 characters. There is a limit because the id is a slice of the header, which keeps all of it in memory. */
const MAX_TRACEPARENT_LENGTH = 128

/** The id of the trace that a request is part of: W3C Trace Context §3.2, §4.3. Undefined if missing or malformed. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_TRACEPARENT_LENGTH) return undefined
  return TRACEPARENT.exec(traceparent)?.[1]
}

/** Throws RequestRefused for a fragment in the target, or a missing Host header (RFC 9112 §3.2). */
export function assertTarget({ url, headers, httpVersion }: IncomingMessage): void {
  if (url?.includes('#')) throw new RequestRefused('fragment in the address')
  if (headers.host === undefined && httpVersion === '1.1') throw new RequestRefused('Host header missing')
}

/** A word or a version: certainly not a token or a generated secret. */
const WORD = /^(v\d{1,2}|[a-z._-]{0,20}\d?)$/i

const SHOWN_SEGMENTS = 8

/** The first segments of an unknown path, for the log: a segment that may be a secret becomes `*`. */
export function shownPath(target: string): string {
  const [path = ''] = target.split(/[?#]/, 1)
  const segments = path.split('/', SHOWN_SEGMENTS)
  return segments.map((segment) => (WORD.test(segment) ? segment : '*')).join('/')
}

/** The path of a target, decoded if that is possible. */
export function pathOf(target: string): string {
  const path = target.split(/[?#]/, 1)[0] as string
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * Returns a function that refuses requests without a route: 404, or 405 with the allowed methods (RFC 9110 §15.5.6). For a hook,
 * because Fastify reads the body before it calls a not-found handler. Call this before adding routes.
 */
export function assertRoutes(app: FastifyInstance): (request: FastifyRequest) => void {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, new Set([...(methods.get(url) ?? []), method].flat()))
  })
  return (request) => {
    if (!request.is404) return
    const allowed = [...(methods.get(pathOf(request.url)) ?? [])]
    if (allowed.length === 0) throw new RequestRefused('no such endpoint')
    const headers = { allow: allowed.join(', ') }
    throw new RequestRefused('method not allowed', { field: allowed.join(' or '), headers })
  }
}
