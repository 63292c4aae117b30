import type { FastifyInstance } from 'fastify'

/**
 * Parses JSON bodies. An empty one counts as no body, because many clients send a Content-Type even without one. Objects with
 * `__proto__` or `constructor` keys are refused.
 */
export function parseJson(api: FastifyInstance): void {
  const parse = api.getDefaultJsonParser('error', 'error')
  api.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else parse(request, body, done)
  })
}
