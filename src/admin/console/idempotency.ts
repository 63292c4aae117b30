import type { FastifyRequest } from 'fastify'
import type { OperatorError } from '../../domain/operator-error.ts'
import { randomString } from '../../domain/random.ts'
import { callerOf } from '../wire/caller.ts'
import { fieldsOf } from './fields.ts'

/** What a form is sent with, so that sent again, by a reload for example, it does nothing again. */
export function newRequestKey(): string {
  return randomString(32)
}

/** What tells the request of such a form from any other one. */
export function idempotencyOf(request: FastifyRequest) {
  const { method, url, body } = request
  const key = fieldsOf(body).text('request_key') || newRequestKey()
  return { key, credential: callerOf(request).credential, request: JSON.stringify([method, url, body]) }
}

/** What such a form has when it is shown again with its mistakes: a new key where it had done something already. */
export function keyForRetry({ body }: FastifyRequest, { kind }: OperatorError): string {
  return kind === 'idempotency key reused' ? newRequestKey() : fieldsOf(body).text('request_key')
}
