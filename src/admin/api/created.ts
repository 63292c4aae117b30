import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Repeatable } from '../../administration/idempotency.ts'
import { callerOf } from '../wire/caller.ts'
import { ProblemError } from '../wire/problem.ts'

/** As long as any that is in use; a UUID has 36 characters. */
const KEY = /^[!-~]([ -~]{0,253}[!-~])?$/

/**
 * What makes a request that is sent twice one request: the Idempotency-Key that its sender gave it
 * (draft-ietf-httpapi-idempotency-key-header), and all that it asks for. Without one it is done each time.
 */
export function repeatable(request: FastifyRequest, reply: FastifyReply): Repeatable {
  const { 'idempotency-key': key } = request.headers
  if (key === undefined) return {}
  if (typeof key !== 'string' || !KEY.test(key)) {
    throw new ProblemError({ status: 400, detail: 'The Idempotency-Key must be 1 to 255 printable ASCII characters.' })
  }
  const { method, url, body = null } = request
  const asked = `${method} ${url} ${JSON.stringify(body)}`
  return {
    idempotency: { key, credential: callerOf(request).credential, request: asked },
    onRepetition: () => void reply.header('idempotent-replayed', 'true'),
  }
}

/** Answers with what is new, its secret too. `path`: where it can be shown, below /admin/v1. */
export function sendCreated(reply: FastifyReply, view: object, path?: string): FastifyReply {
  if (path !== undefined) reply.header('location', `/admin/v1/${path}`)
  return reply.code(201).send(view)
}
