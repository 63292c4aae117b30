import type { FastifyRequest, onRequestHookHandler, preValidationHookHandler } from 'fastify'
import { parseJwt } from '../../domain/federation.ts'
import { RequestRefused } from '../../domain/refusal.ts'
import type { Credentials } from '../../issuer/authenticate.ts'
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
  /** Whether they may also authenticate by a JWT as a client assertion, RFC 7523 §2.2. */
  acceptsJwt: boolean
}

/**
 * The options of routes where applications authenticate: in the body only, as in docs/contract.md but unlike RFC 6749 §2.3.1
 * (docs/adr/0026), or also by HTTP Basic or a client assertion.
 */
export function clientAuthentication({ acceptsBasic, acceptsJwt }: ClientOptions) {
  const copyAssertion = acceptsJwt ? [copyAssertionToForm] : []
  if (!acceptsBasic) return { onRequest: formHook({ acceptsHeader: false }), preValidation: copyAssertion }
  const config = { challengeToHeader: 'Basic realm="applications", charset="UTF-8"' }
  return { config, onRequest: formsOnly, preValidation: [...copyAssertion, copyCredentialsToForm] }
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

const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/**
 * Copies a client assertion to the form as its secret. If the form names no client, its subject is the client (RFC 7521 §4.2).
 * Throws RequestRefused if there is also a secret (RFC 6749 §2.3), or if it is not a JWT.
 */
const copyAssertionToForm: preValidationHookHandler = ({ body, headers }, _reply, done) => {
  const form = body as Record<string, unknown>
  const { client_assertion: assertion, client_assertion_type: type } = form
  for (const [name, value] of Object.entries({ client_assertion: assertion, client_assertion_type: type }))
    if (Array.isArray(value)) assertOnce(value, name, false)
  if (typeof assertion !== 'string') return done()
  if (form.client_secret !== undefined || headers.authorization !== undefined) {
    throw new RequestRefused('credentials given twice')
  }
  const { sub } = (type === ASSERTION_TYPE && parseJwt(assertion)?.claims) || {}
  if (typeof sub !== 'string') throw new RequestRefused('no credentials', { field: 'client' })
  form.client_id ??= sub
  form.client_secret = assertion
  done()
}

/** The credentials in a form that was read. */
export function credentialsIn(
  form: Record<'client_id' | 'client_secret', string> & Form,
  { acceptsJwt }: ClientOptions,
) {
  const isAssertion = acceptsJwt && form.client_assertion !== undefined
  return { clientId: form.client_id, clientSecret: form.client_secret, isAssertion } satisfies Credentials
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

export interface Form {
  readonly [field: string]: string | undefined
}

/** The fields of a form: the named ones, which must not be empty, and any others. None may be repeated (RFC 6749 §3.2). */
export function readForm<Name extends string>({ body }: FastifyRequest, required: readonly Name[]) {
  const form = body as Record<string, string | string[]>
  for (const name of required) {
    if (form[name] === undefined) throw new RequestRefused('field missing', { field: name, isKnownField: true })
  }
  const isKnown = (name: string) => (required as readonly string[]).includes(name)
  for (const name in form) if (!isKnown(name)) assertOnce(form[name], name, false)
  for (const name of required) {
    assertOnce(form[name], name, true)
    if (form[name] === '') throw new RequestRefused('field empty', { field: name, isKnownField: true })
  }
  return form as Record<Name, string> & Form
}

function assertOnce(value: string | string[] | undefined, name: string, isKnownField: boolean): void {
  if (typeof value !== 'string')
    throw new RequestRefused('field repeated', { field: name.slice(0, NAME_LENGTH), isKnownField })
}
