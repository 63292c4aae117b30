import { STATUS_CODES } from 'node:http'
import type { FastifyError, FastifyReply } from 'fastify'
import { OperatorError } from '../../domain/operator-error.ts'
import { StoreUnavailable } from '../../domain/store.ts'
import { invalid, type WrongField } from './invalid.ts'
import { RefusedOperator } from './refused-operator.ts'

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

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Answers with a problem (RFC 9457 §3). Its type is left out (about:blank): the status says what kind it is. */
export function sendProblem(reply: FastifyReply, { status, detail, errors, headers = {} }: Problem): void {
  reply.code(status).headers(headers).type(PROBLEM_TYPE)
  reply.send(problemText({ status, detail, errors }))
}

/** A problem as JSON. */
export function problemText({ status, detail, errors }: Problem): string {
  return JSON.stringify({ title: STATUS_CODES[status], status, detail, errors })
}
