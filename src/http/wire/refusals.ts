import type { RequestReason } from '../../domain/refusal.ts'

/** The error codes that this server sends: RFC 6749 §5.2 and, for its own failures, §4.1.2.1; RFC 6750 §3.1. */
type ErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'unsupported_grant_type'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'temporarily_unavailable'
  | 'server_error'

/** What a caller is told: a status, an error code, and a sentence in which {field} stands for what a request names. */
export interface ErrorAnswer {
  status: number
  code: ErrorCode
  description: string
}

const invalidRequest = (status: number, description: string): ErrorAnswer => ({
  status,
  code: 'invalid_request',
  description,
})
const unavailable = (description: string): ErrorAnswer => ({
  status: 503,
  code: 'temporarily_unavailable',
  description,
})

/** The answer to every request that is refused or fails. */
export const REFUSALS: Record<RequestReason, ErrorAnswer> = {
  'not HTTP': invalidRequest(400, 'The request is not HTTP'),
  'request too slow': invalidRequest(408, 'The request took too long'),
  'headers too large': invalidRequest(431, 'The headers are too large'),
  'Host header missing': invalidRequest(400, 'The Host header is missing'),
  'fragment in the address': invalidRequest(400, 'The address must have no fragment'),
  'query in the address': invalidRequest(400, 'The address must have no query'),
  'not a form': invalidRequest(400, 'The Content-Type must be application/x-www-form-urlencoded'),
  'credentials in a header': invalidRequest(400, 'Credentials belong in the body: leave out the Authorization header'),
  'field missing': invalidRequest(400, 'The field {field} is missing'),
  'field empty': invalidRequest(400, 'The field {field} is empty'),
  'field repeated': invalidRequest(400, 'The field {field} is given more than once'),
  'Authorization header repeated': invalidRequest(400, 'The Authorization header is given more than once'),
  'Authorization header malformed': invalidRequest(400, 'The Authorization header is malformed'),
  'credentials given twice': invalidRequest(
    400,
    'Credentials are given both in the body and in the Authorization header',
  ),
  'unsupported grant type': {
    status: 400,
    code: 'unsupported_grant_type',
    description: 'The grant_type must be client_credentials',
  },
  'request malformed': invalidRequest(400, 'The request is malformed'),
  'no credentials': { status: 401, code: 'invalid_client', description: 'A suite must authenticate' },
  'no such endpoint': invalidRequest(404, 'There is no such endpoint: tokens are at POST /v1/oauth/accesstoken'),
  'method not allowed': invalidRequest(405, 'The method is not allowed here: use {field}'),
  'body too large': invalidRequest(413, 'The body is too large'),
  'too many failures': {
    status: 429,
    code: 'temporarily_unavailable',
    description: 'Too many wrong credentials; try again later',
  },
  'token quota exceeded': {
    status: 429,
    code: 'temporarily_unavailable',
    description: 'Too many tokens in this hour; use a token until it expires',
  },
  'unexpected error': { status: 500, code: 'server_error', description: 'The server failed' },
  'too many imported secrets to check': unavailable('The server is busy; try again'),
  'store unavailable': unavailable('The server cannot do this now; try again'),
}

/** The answer to every client that is not authenticated: the true reason is for the log. */
export const NOT_AUTHENTICATED: ErrorAnswer = {
  status: 401,
  code: 'invalid_client',
  description: 'Unknown client or wrong secret',
}

/** The answer to every token that is not active: the true reason is for the log. */
export const INVALID_TOKEN: ErrorAnswer = { status: 401, code: 'invalid_token', description: 'The token is invalid' }

/** The answer to a token that is active, but not for the suite that was asked about. */
export const NOT_APPROVED: ErrorAnswer = {
  status: 403,
  code: 'insufficient_scope',
  description: 'The application is not approved for this suite',
}

/** The answer to a check for a suite that does not exist, whatever the token is. */
export const NO_SUCH_SUITE = invalidRequest(404, 'There is no such suite')

/** The body of RFC 6749 §5.2; what it does not allow in a description becomes `?`. */
export function errorBody({ code, description }: ErrorAnswer, field = ''): string {
  const text = description.replace('{field}', () => field)
  return JSON.stringify({ error: code, error_description: text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '?') })
}
