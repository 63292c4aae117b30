import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from './problem.ts'

/** Refuses text that PostgreSQL cannot store: NUL and unpaired surrogates. Throws ProblemError. */
export function refuseUnstorable(app: FastifyInstance): void {
  app.addHook('preHandler', (request, _reply, done) => {
    if (textsOf(request).every(isStorable)) return done()
    throw new ProblemError({ status: 400, detail: 'A text contains NUL or an unpaired surrogate.' })
  })
}

/** All values of the path, the query and the body. None of them nests deeper than a list. */
function textsOf({ params, query, body }: FastifyRequest): unknown[] {
  return [params, query, body].flatMap((sent) => Object.values(sent ?? {})).flat()
}

function isStorable(value: unknown): boolean {
  return typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'))
}
