import type { FastifyInstance } from 'fastify'

/**
 * Makes the bodies of a part of the listener JSON. One without any text is no body: many clients name the type of a body that
 * they do not send.
 */
export function parseJson(api: FastifyInstance): void {
  const parse = api.getDefaultJsonParser('error', 'error')
  api.addContentTypeParser<string>('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined)
    else parse(request, body, done)
  })
}
