import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { addressIn, withoutZone } from '../../domain/address.ts'
import { RequestRefused } from '../../domain/refusal.ts'
import { sentId } from '../../domain/request-id.ts'

/** Who asked, and how the request is found again: what every event that it causes has. */
export function askedBy(request: FastifyRequest) {
  return { requestId: request.id, traceId: traceIdOf(request.headers), remoteAddress: remoteAddressOf(request) }
}

/** The same, and what was asked for; `endpoint` is the route's pattern. */
export function askedFor(request: FastifyRequest, endpoint: string | undefined) {
  const path = endpoint === undefined ? shownPath(request.url) : undefined
  return { method: request.method, endpoint, path, ...askedBy(request) }
}

/** Tells a caller the id of its request, and gives it back its X-Correlation-Id. */
export function tellRequestId(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  const correlationId = sentId(request.headers, 'x-correlation-id')
  if (correlationId !== undefined) reply.header('x-correlation-id', correlationId)
}

/** The caller's address: what trusted proxies say, if that is an address, and the other side's of the connection if not. */
function remoteAddressOf(request: FastifyRequest): string {
  return addressIn(request.ip) ?? withoutZone(String(request.socket.remoteAddress))
}

/**
 * VERSION-TRACE-PARENT-FLAGS. Version ff is none; version 00 ends there, and what later ones have behind it is unknown. A
 * trace or a parent of zeros is invalid.
 */
const TRACEPARENT = /^(?!ff)(?!00.{53}.)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/

/** Characters. Version 00 has 55; what is kept of a header keeps all of it in memory. */
const MAX_LENGTH = 128

/** The id of the trace that a request is a part of, if its caller says so: W3C Trace Context §3.2, §4.3. */
export function traceIdOf({ traceparent }: IncomingHttpHeaders): string | undefined {
  if (typeof traceparent !== 'string' || traceparent.length > MAX_LENGTH) return undefined
  return TRACEPARENT.exec(traceparent)?.[1]
}

/** What the target of any request must be: sent to a host by name, and without a fragment (RFC 9112 §3.2). */
export function assertTarget({ url, headers, httpVersion }: IncomingMessage): void {
  if (url?.includes('#')) throw new RequestRefused('fragment in the address')
  if (headers.host === undefined && httpVersion === '1.1') throw new RequestRefused('Host header missing')
}

/** What a segment may be that is surely no token or generated secret: a word, or a version. */
const WORD = /^(v\d{1,2}|[a-z._-]{0,20}\d?)$/i

const SHOWN_SEGMENTS = 8

/** The beginning of an unknown path as the log may have it: its words; what may be a secret is `*`. */
export function shownPath(target: string): string {
  const [path = ''] = target.split(/[?#]/, 1)
  const segments = path.split('/', SHOWN_SEGMENTS)
  return segments.map((segment) => (WORD.test(segment) ? segment : '*')).join('/')
}

/** The path of a target, decoded where it can be. */
export function pathOf(target: string): string {
  const path = target.split(/[?#]/, 1)[0] as string
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/**
 * Answers what has no route with 404, or with 405 and the methods that are allowed (RFC 9110 §15.5.6). On the request
 * and not in a not-found handler, which would come after the body was read. To be called before the routes are added.
 */
export function refuseUnknownRoutes(app: FastifyInstance): void {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, new Set([...(methods.get(url) ?? []), method].flat()))
  })
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.is404) throw noSuchRoute(methods.get(pathOf(request.url)))
    done()
  })
}

function noSuchRoute(allowed: Set<string> | undefined): RequestRefused {
  if (!allowed) return new RequestRefused('no such endpoint')
  const methods = [...allowed]
  return new RequestRefused('method not allowed', {
    field: methods.join(' or '),
    headers: { allow: methods.join(', ') },
  })
}
