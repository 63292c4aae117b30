import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from './problem.ts'

/**
 * Returns a not-found handler that throws ProblemError: 404, or 405 with the allowed methods (RFC 9110 §15.5.6). Call this
 * before adding routes.
 */
export function createNotFoundHandler(app: FastifyInstance): (request: FastifyRequest) => never {
  const methods = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    methods.set(url, new Set([...(methods.get(url) ?? []), method].flat()))
  })

  return function refuse({ url }: FastifyRequest): never {
    const [path = ''] = url.split('?', 1)
    const allowed = [...methods].filter(([pattern]) => matches(pattern, path)).flatMap(([, methods]) => [...methods])
    if (allowed.length === 0) throw new ProblemError({ status: 404, detail: 'There is nothing here.' })
    const allow = allowed.join(', ')
    throw new ProblemError({ status: 405, detail: `The methods that are allowed here: ${allow}.`, headers: { allow } })
  }
}

/** Whether a path matches the pattern of a route: `:name` is one segment, `*` the rest. */
function matches(pattern: string, path: string): boolean {
  const segments = path.split('/')
  const wanted = pattern.split('/')
  const isWhole = wanted.at(-1) !== '*'
  if (isWhole ? segments.length !== wanted.length : segments.length < wanted.length) return false
  return wanted.every((want, at) => want === '*' || want === segments[at] || (want.startsWith(':') && segments[at]))
}

/** The numeric id of a secret, key or session in a path. Throws ProblemError (404) if it is not a number. */
export function idOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new ProblemError({ status: 404, detail: 'There is nothing here.' })
}
