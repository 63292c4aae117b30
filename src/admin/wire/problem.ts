import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { Observer } from '../../domain/events.ts'
import type { LoginReason, OperatorReason, ProviderReason } from '../../domain/operator.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { Refusal } from '../../domain/refusal.ts'
import { newRequestId } from '../../domain/request-id.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { MALFORMED_STATUSES, type MalformedReason, sendFinal } from '../../listener/malformed.ts'

/** CSP 3: only resources of this origin, and no inline scripts or styles. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

/** Headers of every answer. Other sites cannot read it (no CORS), embed it, or see its URL as a referrer. */
export const ANSWER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': POLICY,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

/** An error answer. */
export interface Problem {
  status: number
  /** A sentence for people. */
  detail: string
  /** Invalid fields. `pointer`: a JSON Pointer as a URI fragment (RFC 6901 §6), such as `#/name`. */
  errors?: readonly { detail: string; pointer: string }[] | undefined
  headers?: Record<string, string>
}

export class ProblemError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** Refused sign-ins have pages of their own. */
type RefusedReason = Exclude<OperatorReason, LoginReason | ProviderReason>

/** A request is refused because of its credentials, role, host or origin, or because there are too many. */
export class RefusedOperator extends Refusal<RefusedReason> {
  /** The expired or revoked admin key, and its operator. */
  readonly key: { operator?: string | undefined; keyId?: number | undefined }

  constructor(reason: RefusedReason, { operator, keyId }: RefusedOperator['key'] = {}) {
    super(reason)
    this.key = { operator, keyId }
  }
}

const INVALID_KEY: Problem = {
  status: 401,
  detail: 'This admin key is not valid.',
  headers: { 'www-authenticate': 'Bearer realm="admin", error="invalid_token"' },
}

const REFUSALS: Record<RefusedOperator['reason'], Problem> = {
  // RFC 6750 §3.1: no error code if the request has no credentials.
  'no credentials': {
    status: 401,
    detail: 'An admin key is needed: Authorization: Bearer otsa_…',
    headers: { 'www-authenticate': 'Bearer realm="admin"' },
  },
  'malformed key': INVALID_KEY,
  'unknown key': INVALID_KEY,
  'expired key': INVALID_KEY,
  'revoked key': INVALID_KEY,
  'another host': { status: 421, detail: 'This server does not answer for this host: check ADMIN_URL.' },
  'another site': { status: 403, detail: 'This request does not come from a page of this console.' },
  'too many requests': {
    status: 503,
    detail: 'Too many of your requests are waiting.',
    headers: { 'retry-after': '1' },
  },
  viewer: { status: 403, detail: 'A viewer can see everything, but change nothing: ask an admin.' },
}

const STATUSES: Record<OperatorError['kind'], number> = {
  invalid: 422,
  'not found': 404,
  conflict: 409,
  'another version': 412,
  'idempotency key reused': 422,
  refused: 409,
}

/** Answers to requests that Fastify itself refuses. */
const DETAILS: Record<number, string> = {
  400: 'The request is malformed.',
  413: 'The body is too large.',
  415: 'This content type is not accepted. The API takes application/json.',
}

/** The answer to an error. It does not describe an unexpected error. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem
  if (error instanceof RefusedOperator) return REFUSALS[error.reason]
  if (error instanceof OperatorError) {
    const errors = error.fields?.map(({ field, message }) => ({ detail: message, pointer: `#/${field}` }))
    return { status: STATUSES[error.kind], detail: error.message, errors }
  }
  if (error instanceof StoreUnavailable) {
    return { status: 503, detail: 'The database cannot be used now. Try again.', headers: { 'retry-after': '5' } }
  }
  const { validation, code, statusCode: status = 500 } = error as Partial<FastifyError>
  if (validation) return invalid(error as FastifyError)
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return { status, detail: 'The body is not valid JSON.' }
  if (status < 500) return { status, detail: DETAILS[status] ?? String(STATUS_CODES[status]) }
  return { status: 500, detail: 'The server failed.' }
}

/** Returns the answer to an error, for both error handlers. Reports refused operators and failures (5xx). */
export function reportError(observe: Observer, error: unknown, request: FastifyRequest): Problem {
  const problem = problemOf(error)
  const { id: requestId, method, remoteAddress, caller } = request
  if (error instanceof RefusedOperator) {
    const { reason, key } = error
    const operator = key.operator ?? caller?.operator.name
    observe({ type: 'operator refused', reason, operator, keyId: key.keyId, requestId, remoteAddress })
  } else if (problem.status >= 500) {
    const { status } = problem
    const reason = error instanceof StoreUnavailable ? 'store unavailable' : 'unexpected error'
    const endpoint = request.routeOptions.url
    observe({ type: 'request failed', reason, err: error, status, method, endpoint, requestId, remoteAddress })
  }
  return problem
}

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Answers with a problem (RFC 9457 §3). Its type is left out (about:blank): the status says what kind it is. */
export function sendProblem(reply: FastifyReply, { status, detail, errors, headers = {} }: Problem): void {
  reply.code(status).headers(headers).type(PROBLEM_TYPE)
  reply.send(problemText({ status, detail, errors }))
}

function problemText({ status, detail, errors }: Problem): string {
  return JSON.stringify({ title: STATUS_CODES[status], status, detail, errors })
}

/** JSON types in words. */
const TYPES: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  array: 'a list',
  object: 'an object',
  boolean: 'true or false',
}

/** The problem for a schema validation error: 422 with each field of the body, or 400 for query parameters. */
function invalid({ validation = [], validationContext }: FastifyError): Problem {
  const isBody = validationContext === 'body'
  // An `anyOf` has errors of its own and of its alternatives.
  const own = validation.filter(({ schemaPath }) => !schemaPath.includes('/anyOf/'))
  const errors = own.map((one) => ({ detail: detailOf(one, isBody), path: pathOf(one) }))
  const sentences = errors.map(({ detail, path }) => {
    const name = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')
    return name === '' ? `The body ${detail}.` : `The ${isBody ? 'field' : 'parameter'} ${name} ${detail}.`
  })
  const detail = sentences.join(' ')
  if (!isBody) return { status: 400, detail }
  const pointer = (path: string) => `#${path.toWellFormed().split('/').map(encodeURIComponent).join('/')}`
  return { status: 422, detail, errors: errors.map(({ detail, path }) => ({ detail, pointer: pointer(path) })) }
}

/** The JSON Pointer (RFC 6901) of a field. */
function pathOf({ instancePath, params }: FastifySchemaValidationError): string {
  const own = params.missingProperty ?? params.additionalProperty
  return own ? `${instancePath}/${String(own).replaceAll('~', '~0').replaceAll('/', '~1')}` : instancePath
}

function detailOf({ keyword, params }: FastifySchemaValidationError, isBody: boolean): string {
  if (keyword === 'required') return 'is missing'
  if (keyword === 'additionalProperties') return 'is unknown'
  if (keyword === 'maxItems') return `must have ${params.limit} entries at most`
  if (keyword === 'minProperties') return 'must have at least one field'
  if (keyword === 'anyOf') return 'must be a list, or "all"'
  if (!isBody) return 'is given more than once'
  if (keyword === 'enum') return `must be ${(params.allowedValues as string[]).join(' or ')}`
  // The type of an optional field is ['object', 'null'].
  if (keyword === 'type') return `must be ${TYPES[[params.type].flat()[0] as string]}`
  return `must be ${params.limit} or ${params.comparison === '>=' ? 'more' : 'less'}`
}

const MALFORMED: Record<MalformedReason, string> = {
  'not HTTP': 'This request cannot be read.',
  'request too slow': 'The request took too long.',
  'headers too large': 'The headers are too large.',
}

/** Answers input that is not a valid request, and ends the connection. */
export function answerMalformed(reason: MalformedReason, socket: Socket): void {
  const status = MALFORMED_STATUSES[reason]
  const headers = { ...ANSWER_HEADERS, 'x-request-id': newRequestId(), 'content-type': PROBLEM_TYPE }
  sendFinal(socket, { status, headers, body: problemText({ status, detail: MALFORMED[reason] }) })
}
