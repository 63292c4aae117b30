import type { FastifyRequest, FastifySchemaValidationError } from 'fastify'
import { HttpRefusal } from './refusals.ts'

const FORM = /^application\/x-www-form-urlencoded[\t ]*(;|$)/i

/**
 * The rules of a form endpoint that hold before its body is read: no query, not even an empty one, and a form
 * (the contract; RFC 6749 §3.2). The refusal never repeats the query: it may hold a secret.
 */
export function assertForm(request: FastifyRequest): void {
  if (request.raw.url?.includes('?')) throw new HttpRefusal(400, 'The address must have no query')
  if (!FORM.test(request.headers['content-type'] ?? '')) {
    throw new HttpRefusal(400, 'The Content-Type must be application/x-www-form-urlencoded')
  }
}

/** Credentials travel in the body only: the contract, against RFC 6749 §2.3.1 (docs/adr/0003). */
export function assertBodyCredentials(request: FastifyRequest): void {
  if (request.headers.authorization !== undefined) {
    throw new HttpRefusal(400, 'Credentials belong in the body, not in an Authorization header')
  }
}

/** The schema of a form: these fields must be there, once and not empty; any other may be there, once (§3.2). */
export function formSchema(required: string[]) {
  return {
    type: 'object',
    required,
    properties: Object.fromEntries(required.map((name) => [name, { type: 'string', minLength: 1 }])),
    additionalProperties: { type: 'string' },
  }
}

/** Says in words what a form breaks of its schema. The log is not told the name of a field that it does not know. */
export function formRefusal(errors: FastifySchemaValidationError[]): HttpRefusal {
  const { keyword, instancePath, params, schemaPath } = errors[0] as FastifySchemaValidationError
  const field = instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')
  if (keyword === 'required') return new HttpRefusal(400, `The field ${params.missingProperty} is missing`)
  if (keyword === 'minLength') return new HttpRefusal(400, `The field ${field} is empty`)
  const known = schemaPath.startsWith('#/properties/')
  const log = { reason: `The field ${known ? field : 'of an unknown name'} is given more than once` }
  return new HttpRefusal(400, `The field ${field.slice(0, 40)} is given more than once`, { log })
}
