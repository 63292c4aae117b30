import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest, FastifySchemaValidationError } from 'fastify'
import type { Observer } from '../../domain/events.ts'
import type { LoginReason, OperatorReason } from '../../domain/operator.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { Refusal } from '../../domain/refusal.ts'
import { newRequestId } from '../../domain/request-id.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { MALFORMED_STATUSES, type MalformedReason, sendFinal } from '../../listener/malformed.ts'
import { ANSWER_HEADERS } from './headers.ts'

/** An error answer. */
export interface Problem {
  status: number
  /** A sentence for people. */
  detail: string
  /** Invalid fields. */
  errors?: readonly WrongField[] | undefined
  headers?: Record<string, string>
}

export class ProblemError extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem.detail)
    this.problem = problem
  }
}

/** A request is refused because of its credentials, role, host or origin. Refused login links have a page of their own. */
export class RefusedOperator extends Refusal<Exclude<OperatorReason, LoginReason>> {
  /** The expired or revoked admin key, and its operator. */
  readonly key: { operator?: string | undefined; keyId?: number | undefined }

  constructor(reason: Exclude<OperatorReason, LoginReason>, { operator, keyId }: RefusedOperator['key'] = {}) {
    super(reason)
    this.key = { operator, keyId }
  }
}

const RETRY_AFTER_SECONDS = '5'

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
  'another host': { status: 421, detail: 'This server does not answer for this host. See ADMIN_URL.' },
  'another site': { status: 403, detail: 'This does not come from a page of this console.' },
  viewer: { status: 403, detail: 'A viewer can look at everything, and change nothing.' },
}

const STATUSES: Record<OperatorError['kind'], number> = {
  invalid: 422,
  'not found': 404,
  conflict: 409,
  'idempotency key reused': 422,
  refused: 409,
}

/** Answers to requests that Fastify itself refuses. */
const DETAILS: Record<number, string> = {
  400: 'The request is malformed.',
  413: 'The body is too large.',
  415: 'This content type is not accepted. The API takes application/json.',
}

/** The answer to an error. An unexpected one is not described. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem
  if (error instanceof RefusedOperator) return REFUSALS[error.reason]
  if (error instanceof OperatorError) return ofOperatorError(error)
  if (error instanceof StoreUnavailable) {
    const headers = { 'retry-after': RETRY_AFTER_SECONDS }
    return { status: 503, detail: 'The store cannot be used now.', headers }
  }
  const { validation, code, statusCode: status = 500 } = error as Partial<FastifyError>
  if (validation) return invalid(error as FastifyError)
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY') return { status, detail: 'The body is not valid JSON.' }
  if (status < 500) return { status, detail: DETAILS[status] ?? String(STATUS_CODES[status]) }
  return { status: 500, detail: 'The server failed.' }
}

function ofOperatorError({ kind, message, fields }: OperatorError): Problem {
  const errors = fields?.map(({ field, message }) => ({ detail: message, pointer: `#/${field}` }))
  return { status: STATUSES[kind], detail: message, errors }
}

/**
 * Returns the answer to an error. Reports refused operators and failures (5xx) as events. The error handlers of API and console
 * call this.
 */
export function reportError(observe: Observer, error: unknown, request: FastifyRequest): Problem {
  const problem = problemOf(error)
  const { id: requestId, method, remoteAddress, caller } = request
  if (error instanceof RefusedOperator) {
    observe({
      type: 'operator refused',
      reason: error.reason,
      operator: error.key.operator ?? caller?.operator.name,
      keyId: error.key.keyId,
      requestId,
      remoteAddress,
    })
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

/** A problem as JSON. */
function problemText({ status, detail, errors }: Problem): string {
  return JSON.stringify({ title: STATUS_CODES[status], status, detail, errors })
}

/** An invalid field. `pointer`: a JSON Pointer (RFC 6901) as a URI fragment, such as `#/name`. */
interface WrongField {
  detail: string
  pointer: string
}

/** JSON types in words. */
const TYPES: Record<string, string> = {
  string: 'text',
  integer: 'a whole number',
  array: 'a list',
  object: 'an object',
}

/** The problem for a schema validation error: 422 with each field of the body, or 400 for query parameters. */
function invalid({ validation = [], validationContext }: FastifyError): Problem {
  const isBody = validationContext === 'body'
  const problems = validation.map((one) => ({ names: namesOf(one), words: isBody ? bodyWords(one) : queryWords(one) }))
  const detail = problems.map(({ names, words }) => {
    if (names.length === 0) return `The body ${words}.`
    return `The ${isBody ? 'field' : 'parameter'} ${names.join('/')} ${words}.`
  })
  if (!isBody) return { status: 400, detail: detail.join(' ') }
  const errors = problems.map(({ names, words }) => ({ detail: words, pointer: pointerOf(names) }))
  return { status: 422, detail: detail.join(' '), errors }
}

/** The path to the field: the names of the enclosing fields and its own. */
function namesOf({ instancePath, params }: FastifySchemaValidationError): string[] {
  const names = instancePath.split('/').slice(1)
  const own = params.missingProperty ?? params.additionalProperty
  return [...names.map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~')), ...(own ? [String(own)] : [])]
}

/** A JSON Pointer as a URI fragment (RFC 6901 §6). */
function pointerOf(names: string[]): string {
  const segments = names.map((name) => encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1')))
  return ['#', ...segments].join('/')
}

function bodyWords({ keyword, params }: FastifySchemaValidationError): string {
  if (keyword === 'required') return 'is missing'
  if (keyword === 'additionalProperties') return 'is not known here'
  if (keyword === 'minProperties') return 'must have a field'
  if (keyword === 'type')
    return `must be ${[params.type]
      .flat()
      .flatMap((type) => TYPES[String(type)] ?? [])
      .join(' or ')}`
  const isLeast = params.comparison === '>='
  return `must be ${params.limit} or ${isLeast ? 'more' : 'less'}`
}

function queryWords({ keyword }: FastifySchemaValidationError): string {
  return keyword === 'additionalProperties' ? 'is not known here' : 'must be given once'
}

const MALFORMED: Record<MalformedReason, string> = {
  'not HTTP': 'This request cannot be read.',
  'request too slow': 'The request took too long.',
  'headers too large': 'The headers are too large.',
}

/** Answers what is not a valid request, and ends the connection. */
export function answerMalformed(reason: MalformedReason, socket: Socket): void {
  const status = MALFORMED_STATUSES[reason]
  const headers = { ...ANSWER_HEADERS, 'x-request-id': newRequestId(), 'content-type': PROBLEM_TYPE }
  sendFinal(socket, { status, headers, body: problemText({ status, detail: MALFORMED[reason] }) })
}
