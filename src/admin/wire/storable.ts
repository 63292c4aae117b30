import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ProblemError } from './problem.ts'

/** Refuses texts that not every store can hold: with NUL, or half a character. */
export function refuseUnstorable(app: FastifyInstance): void {
  app.addHook('preHandler', (request, _reply, done) => {
    if (textsOf(request).every(isStorable)) return done()
    throw new ProblemError({ status: 400, detail: 'A text has NUL or half a character in it.' })
  })
}

/** All that is sent in the path, the query and the body, which have no more than lists in them. */
function textsOf({ params, query, body }: FastifyRequest): unknown[] {
  return [params, query, body].flatMap((sent) => Object.values(sent ?? {})).flat()
}

function isStorable(value: unknown): boolean {
  return typeof value !== 'string' || (value.isWellFormed() && !value.includes('\0'))
}
