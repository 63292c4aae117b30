import type { FastifyInstance } from 'fastify'
import { RequestRefused } from '../../domain/refusal.ts'
import { pathOf } from './target.ts'

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
