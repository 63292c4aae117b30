import type { FastifySchemaValidationError, onRequestHookHandler, preValidationHookHandler } from 'fastify'
import { RequestRefused } from '../../domain/refusal.ts'
import { credentialsInHeader } from './authorization.ts'
import type { CheckOptions } from './checks.ts'

const FORM = /^application\/x-www-form-urlencoded[\t ]*(;|$)/i

/** Bytes. */
export const BODY_LIMIT = 8 * 1024

/** How many characters of an unknown field's name the answer repeats. */
const NAME_LENGTH = 40

/** Accepts forms, and credentials in the Authorization header. */
export const formsOnly = formHook({ acceptsHeader: true })

export interface ClientOptions extends Pick<CheckOptions, 'issuer' | 'observe'> {
  /** Whether applications may authenticate by HTTP Basic, not only in the body. */
  acceptsBasic: boolean
}

/**
 * The options of routes where applications authenticate: in the body only, as in docs/contract.md, but unlike RFC 6749 §2.3.1
 * (docs/adr/0026); or by HTTP Basic, too.
 */
export function clientAuthentication({ acceptsBasic }: ClientOptions) {
  if (!acceptsBasic) return { onRequest: formHook({ acceptsHeader: false }) }
  const config = { challengeToHeader: 'Basic realm="applications", charset="UTF-8"' }
  return { config, onRequest: formsOnly, preValidation: copyCredentialsToForm }
}

/** Copies the credentials of HTTP Basic to the form, so that everything after this treats both the same. */
const copyCredentialsToForm: preValidationHookHandler = (request, _reply, done) => {
  const form = request.body as { client_id?: unknown; client_secret?: unknown }
  const credentials = credentialsInHeader(request, form, 'client')
  if (credentials) {
    const { clientId, clientSecret } = credentials
    if (form.client_id !== undefined && form.client_id !== clientId) throw new RequestRefused('credentials given twice')
    if (!clientId || !clientSecret) throw new RequestRefused('no credentials', { field: 'client' })
    form.client_id = clientId
    form.client_secret = clientSecret
  }
  done()
}

/**
 * A hook that refuses, before the body is read, a request that is not a form or has a query, even an empty one (docs/contract.md;
 * RFC 6749 §3.2). The refusal never repeats the query: it may contain a secret.
 */
function formHook({ acceptsHeader }: { acceptsHeader: boolean }): onRequestHookHandler {
  return ({ raw, headers }, _reply, done) => {
    if (raw.url?.includes('?')) throw new RequestRefused('query in the address')
    if (!FORM.test(headers['content-type'] ?? '')) throw new RequestRefused('not a form')
    if (!acceptsHeader && headers.authorization !== undefined) throw new RequestRefused('credentials in a header')
    done()
  }
}

/** The schema of a form: requires these fields, not empty, and allows any others; none may be repeated (RFC 6749 §3.2). */
export function formSchema(required: string[]) {
  return {
    type: 'object',
    required,
    properties: Object.fromEntries(required.map((name) => [name, { type: 'string', minLength: 1 }])),
    additionalProperties: { type: 'string' },
  }
}

/** The refusal for a schema validation error. */
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
