import type { FastifyRequest, FastifySchemaValidationError, onRequestHookHandler } from 'fastify'
import { RequestRefused } from '../../domain/refusal.ts'

const FORM = /^application\/x-www-form-urlencoded[\t ]*(;|$)/i

/** The longest form. Bytes. */
export const BODY_LIMIT = 8 * 1024

/** How much of an unknown field's name its sender is told. Characters. */
const NAME_LENGTH = 40

/**
 * Refuses, before a body is read, what is not a form without a query, not even an empty one (docs/contract.md; RFC 6749
 * §3.2). The refusal never repeats the query: it may have a secret in it.
 */
function assertForm(request: FastifyRequest): void {
  if (request.raw.url?.includes('?')) throw new RequestRefused('query in the address')
  if (!FORM.test(request.headers['content-type'] ?? '')) throw new RequestRefused('not a form')
}

/** The hook of an endpoint that takes forms. */
export const formsOnly: onRequestHookHandler = (request, _reply, done) => {
  assertForm(request)
  done()
}

/** The hook of one whose credentials travel in the body only: docs/contract.md, against RFC 6749 §2.3.1 (docs/adr/0003). */
export const credentialsInForm: onRequestHookHandler = (request, _reply, done) => {
  assertForm(request)
  if (request.headers.authorization !== undefined) throw new RequestRefused('credentials in a header')
  done()
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

/** Says what a form breaks of its schema. */
export function formRefusal(errors: FastifySchemaValidationError[]): RequestRefused {
  const { keyword, instancePath, params, schemaPath } = errors[0] as FastifySchemaValidationError
  if (keyword === 'required') {
    return new RequestRefused('field missing', { field: String(params.missingProperty), isKnownField: true })
  }
  const field = instancePath.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')
  if (keyword === 'minLength') return new RequestRefused('field empty', { field, isKnownField: true })
  const isKnownField = schemaPath.startsWith('#/properties/')
  return new RequestRefused('field repeated', { field: field.slice(0, NAME_LENGTH), isKnownField })
}
