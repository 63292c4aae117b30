import type { FastifyReply, FastifyRequest } from 'fastify'
import type { OperatorError } from '../../domain/operator-error.ts'
import { randomString } from '../../domain/text.ts'
import { callerOf } from '../wire/caller.ts'
import { problemOf, RefusedOperator } from '../wire/problem.ts'
import type { FieldError } from './components/forms.ts'

/** Whether the operator may make changes. */
export function canChange(request: FastifyRequest): boolean {
  return callerOf(request).operator.role === 'admin'
}

/** Throws RefusedOperator for viewers, on pages that only have a form. */
export function assertCanChange(request: FastifyRequest): void {
  if (!canChange(request)) throw new RefusedOperator('viewer')
}

/** Reads a parsed form or query. `all`: the values of a name; `text`: the first one, trimmed, or empty. */
export function fieldsOf(values: unknown) {
  const all = (name: string) => [(values as Record<string, string | string[]> | undefined)?.[name] ?? []].flat()
  const text = (name: string) => all(name)[0]?.trim() ?? ''
  return { all, text }
}

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

/**
 * The errors of a form. `inputs`: the name of the input for a JSON field, if they differ, or for the kind of an error without
 * fields.
 */
export function errorsOf(
  { kind, fields, message }: OperatorError,
  inputs: Readonly<Record<string, string>> = {},
): FieldError[] {
  if (fields) return fields.map(({ field, message }) => ({ field: inputs[field] ?? field, message: `${message}.` }))
  return [{ field: inputs[kind], message }]
}

/** The status of the page that shows the form again. */
export function statusOf(error: OperatorError): number {
  return problemOf(error).status
}

/** Messages after a form was carried out, by the `done` of the URL. A closed list, so that no link can inject text. */
const DONE = {
  'application-suspended': 'The application is suspended: it gets no tokens, and the tokens that it has are refused.',
  'application-resumed': 'The application is active again.',
  'application-removed': 'The application is removed.',
  'approvals-saved': 'The approvals are saved.',
  'names-saved': 'The changes are saved.',
  'secret-revoked': 'The secret is revoked.',
  'suite-removed': 'The suite is removed.',
  'tokens-revoked': 'All tokens of the application are revoked.',
  'operator-removed': 'The operator is removed, with all keys and sessions.',
  'key-revoked': 'The key is revoked.',
  'session-ended': 'The session has ended.',
} as const

/** Redirects after a form was carried out. The page at `path` shows the message. */
export function redirectDone(reply: FastifyReply, path: string, done: keyof typeof DONE): FastifyReply {
  return reply.redirect(`${path}?done=${done}`, 303)
}

/** The message for the page that a form has redirected to, or undefined. */
export function doneMessage(request: FastifyRequest): string | undefined {
  const code = fieldsOf(request.query).text('done')
  return Object.hasOwn(DONE, code) ? DONE[code as keyof typeof DONE] : undefined
}
