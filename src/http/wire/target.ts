import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { RequestRefused } from '../../domain/refusal.ts'

/** Where gateways ask; what they append behind the suite is cut off before the request is routed. */
export const VERIFY_PATH = '/v1/oauth/verify'

/** What the target of any request must be: sent to a host by name, and without a fragment (RFC 9112 §3.2). */
export function assertTarget({ url, headers, httpVersion }: IncomingMessage): void {
  if (url?.includes('#')) throw new RequestRefused('fragment in the address')
  if (headers.host === undefined && httpVersion === '1.1') throw new RequestRefused('Host header missing')
}

/**
 * The target of a gateway check without what the gateway appended behind the suite: the path and the query of the request
 * that it asks about, which may be as malformed as anybody likes. Other targets stay as they are.
 */
export function withoutForeignPath(target: string): string {
  if (!target.startsWith(VERIFY_PATH)) return target
  return /^(\/v1\/oauth\/verify(?:\/[^/?#]*)?)(?:[/?#].*)?$/.exec(target)?.[1] ?? target
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
