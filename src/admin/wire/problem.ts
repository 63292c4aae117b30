import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { Observer } from '../../domain/events.ts'
import type { LoginReason, OperatorReason, ProviderReason } from '../../domain/operator.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { Refusal } from '../../domain/refusal.ts'
import { newRequestId, requestIdOf } from '../../domain/request-id.ts'
import { ClocksDiffer, StoreUnavailable } from '../../domain/store.ts'
import { withPeriod } from '../../domain/text.ts'
import { type MalformedReason, sendFinal } from '../../listener/malformed.ts'
import { STATUS_CODES } from '../../web/http.ts'

/** CSP 3: only resources of this origin, and no inline scripts or styles. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
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

/** The codes of problems, by which programs tell them apart, and their statuses. docs/admin-api.md says what to do. */
export const PROBLEM_CODES = {
  malformed: 400,
  no_credentials: 401,
  invalid_key: 401,
  forbidden: 403,
  not_found: 404,
  no_such_path: 404,
  method_not_allowed: 405,
  request_too_slow: 408,
  id_taken: 409,
  last_secret: 409,
  refused: 409,
  version_mismatch: 412,
  body_too_large: 413,
  path_too_long: 414,
  unsupported_media_type: 415,
  wrong_host: 421,
  invalid: 422,
  idempotency_key_reused: 422,
  headers_too_large: 431,
  server_error: 500,
  store_unavailable: 503,
  too_many_requests: 503,
}

export type ProblemCode = keyof typeof PROBLEM_CODES

export interface Problem {
  code: ProblemCode
  status: number
  detail: string
  /** Invalid fields. `pointer` is a JSON Pointer as a URI fragment (RFC 6901 §6), such as `#/name`. */
  errors?: readonly { detail: string; pointer: string }[] | undefined
  headers?: Record<string, string>
}

/** A problem with the status of its code, unless `more` has another one. */
export function problem(code: ProblemCode, detail: string, more?: Partial<Problem>): Problem {
  return { code, status: PROBLEM_CODES[code], detail, ...more }
}

export class ProblemError extends Error {
  readonly problem: Problem

  constructor(...args: Parameters<typeof problem>) {
    super(args[1])
    this.problem = problem(...args)
  }
}

/** Refused sign-ins have pages of their own. */
type RefusedReason = Exclude<OperatorReason, LoginReason | ProviderReason>

/** A request is refused because of its credentials, role, host or origin, or because too many requests wait. */
export class RefusedOperator extends Refusal<RefusedReason> {
  /** The expired or revoked admin key, and its operator. */
  readonly key: { operator?: string | undefined; keyId?: number | undefined }

  constructor(reason: RefusedReason, { operator, keyId }: RefusedOperator['key'] = {}) {
    super(reason)
    this.key = { operator, keyId }
  }
}

const INVALID_KEY = problem('invalid_key', 'This admin key is not valid.', {
  headers: { 'www-authenticate': 'Bearer realm="admin", error="invalid_token"' },
})

const REFUSALS: Record<RefusedOperator['reason'], Problem> = {
  // RFC 6750 §3.1: no error code if the request has no credentials.
  'no credentials': problem('no_credentials', 'An admin key is needed: Authorization: Bearer otsa_…', {
    headers: { 'www-authenticate': 'Bearer realm="admin"' },
  }),
  'malformed key': INVALID_KEY,
  'unknown key': INVALID_KEY,
  'expired key': INVALID_KEY,
  'revoked key': INVALID_KEY,
  'another host': problem('wrong_host', 'This server does not answer for this host: check ADMIN_URL.'),
  'another site': problem('forbidden', 'This request does not come from a page of this console.'),
  'too many requests': problem('too_many_requests', 'Too many of your requests are waiting.', {
    headers: { 'retry-after': '1' },
  }),
  viewer: problem('forbidden', 'A viewer can see everything, but change nothing: ask an admin.'),
}

const CODES: Record<OperatorError['kind'], ProblemCode> = {
  invalid: 'invalid',
  'not found': 'not_found',
  'taken id': 'id_taken',
  'last secret': 'last_secret',
  'another version': 'version_mismatch',
  'idempotency key reused': 'idempotency_key_reused',
  refused: 'refused',
}

/** Answers to requests that Fastify itself refuses, by its status. */
const BY_FASTIFY: Record<number, Problem> = {
  413: problem('body_too_large', 'The body is too large.'),
  414: problem('path_too_long', 'URI Too Long'),
  415: problem('unsupported_media_type', 'This content type is not accepted. The API takes application/json.'),
}

function unavailable(error: StoreUnavailable, isOperator: boolean): string {
  if (error instanceof ClocksDiffer) return `The overlap would end at a wrong time: ${withPeriod(error.message)}`
  return `The database cannot be used now${isOperator ? `: ${withPeriod(error.message)}` : '. Try again.'}`
}

/** The answer to an error. It does not describe an unexpected error. For an operator (`isOperator`) it may name files and hosts. */
export function problemOf(error: unknown, isOperator = false): Problem {
  if (error instanceof ProblemError) return error.problem
  if (error instanceof RefusedOperator) return REFUSALS[error.reason]
  if (error instanceof OperatorError) {
    const errors = error.fields?.map(({ field, message }) => ({ detail: message, pointer: `#/${field}` }))
    return problem(CODES[error.kind], error.message, { errors })
  }
  if (error instanceof StoreUnavailable) {
    return problem('store_unavailable', unavailable(error, isOperator), { headers: { 'retry-after': '5' } })
  }
  const { validation, code, statusCode: status = 500 } = error as Partial<FastifyError>
  if (validation) return invalid(error as FastifyError)
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return problem('malformed', 'The body is not valid JSON.')
  if (status < 500) return BY_FASTIFY[status] ?? problem('malformed', 'The request is malformed.')
  return problem('server_error', 'The server failed.')
}

type Reported = Pick<FastifyRequest, 'id' | 'method' | 'remoteAddress'> &
  Partial<Pick<FastifyRequest, 'caller' | 'routeOptions'>>

/** Returns the answer to an error, for the error handlers. Reports refused operators and failures (5xx). */
export function reportError(observe: Observer, error: unknown, request: Reported): Problem {
  const { id: requestId, method, remoteAddress, caller } = request
  const answer = problemOf(error, Boolean(caller))
  if (error instanceof RefusedOperator) {
    const { reason, key } = error
    const operator = key.operator ?? caller?.operator.name
    observe({ type: 'operator refused', reason, operator, keyId: key.keyId, requestId, remoteAddress })
  } else if (answer.status >= 500) {
    const { status } = answer
    const reason = error instanceof StoreUnavailable ? 'store unavailable' : 'unexpected error'
    const endpoint = request.routeOptions?.url
    observe({ type: 'request failed', reason, err: error, status, method, endpoint, requestId, remoteAddress })
  }
  return answer
}

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Answers with a problem (RFC 9457 §3). Its type is left out (about:blank): the status says what kind it is. */
export function sendProblem(reply: FastifyReply, answer: Problem): void {
  reply
    .code(answer.status)
    .headers(answer.headers ?? {})
    // What follows a repeated call can fail.
    .removeHeader('idempotent-replayed')
    .type(PROBLEM_TYPE)
  reply.send(problemText(answer))
}

function problemText({ status, code, detail, errors }: Problem): string {
  return JSON.stringify({ title: STATUS_CODES[status], status, code, detail, errors })
}

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
  if (!isBody) return problem('malformed', detail)
  const pointer = (path: string) => `#${path.toWellFormed().split('/').map(encodeURIComponent).join('/')}`
  return problem('invalid', detail, {
    errors: errors.map(({ detail, path }) => ({ detail, pointer: pointer(path) })),
  })
}

/** The JSON Pointer (RFC 6901) of a field. */
function pathOf({ instancePath, params }: FastifySchemaValidationError): string {
  const own = params.missingProperty ?? params.additionalProperty
  return own ? `${instancePath}/${String(own).replaceAll('~', '~0').replaceAll('/', '~1')}` : instancePath
}

function detailOf({ keyword, params }: FastifySchemaValidationError, isBody: boolean): string {
  if (keyword === 'required') return 'is missing'
  if (keyword === 'additionalProperties') return 'is unknown'
  if (keyword === 'maxItems') return `must have at most ${params.limit} entries`
  if (keyword === 'minProperties') return 'must have at least one field'
  if (keyword === 'anyOf') return 'must be a list, or "all"'
  if (!isBody) return 'is given more than once'
  if (keyword === 'enum') return `must be ${(params.allowedValues as string[]).join(' or ')}`
  // The type of an optional field is ['object', 'null'].
  if (keyword === 'type') return `must be ${TYPES[[params.type].flat()[0] as string]}`
  return `must be ${params.limit} or ${params.comparison === '>=' ? 'more' : 'less'}`
}

const MALFORMED: Record<MalformedReason, Problem> = {
  'not HTTP': problem('malformed', 'This request cannot be read.'),
  'request too slow': problem('request_too_slow', 'The request took too long.'),
  'headers too large': problem('headers_too_large', 'The headers are too large.'),
}

/** Answers input that is not a valid request, and ends the connection. */
export function answerMalformed(reason: MalformedReason, socket: Socket): void {
  const answer = MALFORMED[reason]
  const headers = { ...ANSWER_HEADERS, 'x-request-id': newRequestId(), 'content-type': PROBLEM_TYPE }
  sendFinal(socket, { status: answer.status, headers, body: problemText(answer) })
}

/** Answers a request that the app could not answer, because it could not be loaded. */
export function answerFailure(
  observe: Observer,
  error: unknown,
  sent: IncomingMessage,
  response: ServerResponse,
): void {
  const { headers, method = '', socket } = sent
  const request = { id: requestIdOf(headers), method, remoteAddress: socket.remoteAddress ?? 'unix socket' }
  const answer = reportError(observe, error, request)
  const own = { 'x-request-id': request.id, 'content-type': PROBLEM_TYPE }
  response.writeHead(answer.status, { ...ANSWER_HEADERS, ...own }).end(problemText(answer))
}
