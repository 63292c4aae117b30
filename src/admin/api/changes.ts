import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Administration } from '../../administration/administration.ts'
import type { Repeatable } from '../../administration/idempotency.ts'
import type { AdminContext } from '../context.ts'
import { administrationOf, callerOf } from '../wire/caller.ts'
import { ProblemError } from '../wire/problem.ts'

/** 1 to 255 printable ASCII characters, without spaces at the ends. A UUID has 36. */
const KEY = /^[!-~]([ -~]{0,253}[!-~])?$/

/**
 * Makes a request repeatable if it has an Idempotency-Key (draft-ietf-httpapi-idempotency-key-header). The key is bound to
 * method, URL and body. Throws ProblemError if the key is malformed.
 */
export function repeatable(request: FastifyRequest, reply: FastifyReply): Repeatable {
  const { 'idempotency-key': key } = request.headers
  if (key === undefined) return {}
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new ProblemError({ status: 400, detail: 'The Idempotency-Key must be 1 to 255 printable ASCII characters.' })
  }
  const { method, url, body = null } = request
  const content = `${method} ${url} ${JSON.stringify(body)}`
  return {
    idempotency: { key, credential: callerOf(request).credential, request: content },
    onRepetition: () => void reply.header('idempotent-replayed', 'true'),
  }
}

/** Answers 201 with what was created, including its secret. `path`: the Location, relative to /admin/v1. */
export function sendCreated(reply: FastifyReply, view: object, path?: string): FastifyReply {
  if (path !== undefined) reply.header('location', `/admin/v1/${path}`)
  return reply.code(201).send(view)
}

/** Adds routes that change something and answer 204. `change` is given what is in the path. */
export function changes<Params>(api: FastifyInstance, context: AdminContext) {
  return (
    method: 'PUT' | 'DELETE',
    url: string,
    change: (administration: Administration, params: Params) => Promise<unknown>,
  ): void => {
    api.route({
      method,
      url,
      handler: async (request, reply) => {
        await change(administrationOf(context, request), request.params as Params)
        return reply.code(204).send()
      },
    })
  }
}
