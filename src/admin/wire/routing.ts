import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from './problem.ts'

/**
 * Returns a not-found handler that throws ProblemError: 404, or 405 with the allowed methods (RFC 9110 §15.5.6). Call this
 * before adding routes.
 */
export function createNotFoundHandler(app: FastifyInstance): (request: FastifyRequest) => never {
  const routes: { pattern: RegExp; method: string | string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    const pattern = new RegExp(`^${url.replace(/:\w+/g, '[^/]+').replace('*', '.*')}$`)
    routes.push({ pattern, method })
  })

  // Runs before the body is read: Fastify answers a QUERY without a Content-Type with 400.
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    if (request.is404) refuse(request)
    done()
  })
  return refuse

  function refuse({ url }: FastifyRequest): never {
    const [path = ''] = url.split('?', 1)
    const matching = routes.filter(({ pattern }) => pattern.test(path))
    const allow = [...new Set(matching.flatMap(({ method }) => method))].join(', ')
    if (allow === '') throw new ProblemError('no_such_path', 'There is nothing at this address.')
    throw new ProblemError('method_not_allowed', `The methods allowed here are ${allow}.`, { headers: { allow } })
  }
}

/** Refuses text that PostgreSQL cannot store, NUL and unpaired surrogates, in the path, the query and the body. */
export function refuseUnstorable(app: FastifyInstance): void {
  app.addHook('preHandler', ({ params, query, body }, _reply, done) => {
    // Texts and lists of texts. Deeper inside, in labels and federated credentials, their own rules refuse such texts, or they are stored as escaped JSON.
    const values = [params, query, body].flatMap((sent) => Object.values(sent ?? {})).flat()
    if (values.every((value) => typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'))))
      return done()
    throw new ProblemError('malformed', 'A text contains NUL or an unpaired surrogate.')
  })
}

/** The numeric id of a secret, key or session in a path. Throws ProblemError (404) if it is not a number. */
export function idOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new ProblemError('no_such_path', 'There is nothing at this address.')
}
