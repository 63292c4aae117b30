import type { FastifyRequest } from 'fastify'
import type { OperatorError } from '../../domain/operator-error.ts'
import { randomString } from '../../domain/random.ts'
import { callerOf } from '../wire/caller.ts'
import { fieldsOf } from './fields.ts'

/** An idempotency key for a form, so that a reload does not repeat the change. */
export function newRequestKey(): string {
  return randomString(32)
}

/** The idempotency key of a form, bound to the session and the request. */
export function idempotencyOf(request: FastifyRequest) {
  const { method, url, body } = request
  const key = fieldsOf(body).text('request_key') || newRequestKey()
  return { key, credential: callerOf(request).credential, request: JSON.stringify([method, url, body]) }
}

/** The key for a form that is shown again with errors. A new one if the old key was used for another request. */
export function keyForRetry({ body }: FastifyRequest, { kind }: OperatorError): string {
  return kind === 'idempotency key reused' ? newRequestKey() : fieldsOf(body).text('request_key')
}
