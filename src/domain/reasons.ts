/** The error codes of RFC 6749 §5.2, RFC 6750 §3.1, RFC 8707 §2 and, for failures of this server, RFC 6749 §4.1.2.1. */
type ErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'invalid_target'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'temporarily_unavailable'
  | 'server_error'

/** An error answer. In the description, {field} stands for the wrong field, the allowed methods, or the kind of client. */
export interface ErrorAnswer {
  status: number
  code: ErrorCode
  description: string
}

/** The answer to callers, and the explanation for operators. */
interface ReasonFacts extends ErrorAnswer {
  /** Shown in the console. Undefined if the reason needs no explanation. */
  words?: string | undefined
}

/** Why a client is not authenticated. The answer to clients is the same for all reasons: only operators see the reason. */
export const AUTHENTICATION_REASONS = {
  'not a suite': notAuthenticated('Only suites may use introspection'),
  'unknown client': notAuthenticated('No application or suite has this client id'),
  'wrong secret': notAuthenticated('The secret does not match'),
  'expired secret': notAuthenticated('The secret has expired'),
  'revoked secret': notAuthenticated('The secret was revoked'),
  'suspended application': notAuthenticated('The application is suspended'),
  'address not allowed': notAuthenticated('The secret is right, but not sent from a source address of the application'),
  'federated token not trusted': notAuthenticated(
    'The JWT is not one that its issuer has signed, or not as it must be',
  ),
  'federated token not valid now': notAuthenticated('The JWT has expired, is not valid yet, or is valid for too long'),
  'federated token mismatch': notAuthenticated('A claim of the JWT is not the one that is asked for'),
  'issuer unavailable': notAuthenticated('The keys of the issuer of the JWT could not be fetched'),
  // Covers used links, too, because their codes are forgotten.
  'unknown hand-over link': invalidRequest(
    403,
    'This link was used or withdrawn, or its code is incomplete. If you have not used it, tell the sender',
    'A hand-over link was used before, or its code is wrong',
  ),
  'expired hand-over link': invalidRequest(
    403,
    'This link has expired, an hour after it was made: ask for a new one',
    'A hand-over link has expired',
  ),
  'hand-over to a suspended application': invalidRequest(
    403,
    'This link does not work now: ask the person who sent it',
    'The application is suspended',
  ),
}

export type AuthenticationReason = keyof typeof AUTHENTICATION_REASONS

/** Why a token is not active (RFC 7662 §2.2). The answer is the same for all of these: only operators see the reason. */
const INACTIVE_REASONS = {
  'no token': invalidToken('There is no token'),
  'malformed token': invalidToken('The token is cut off, or from another server'),
  'unknown token': invalidToken('The token is from another server, or expired long ago'),
  'removed application': invalidToken('The application was removed'),
  'expired token': invalidToken('The token is older than 60 minutes'),
  'revoked token': invalidToken('The token was revoked'),
  'suspended application': invalidToken('The application is suspended'),
  'token for another suite': invalidToken('The token was requested for another suite alone'),
}

export type InactiveReason = keyof typeof INACTIVE_REASONS

/** Why a token does not pass a check for a suite. */
export const CHECK_REASONS = {
  ...INACTIVE_REASONS,
  'application not approved': {
    status: 403,
    code: 'insufficient_scope',
    description: 'The application is not approved for this suite',
    words: 'The application is not approved for the suite',
  },
  'no such suite': invalidRequest(404, 'There is no such suite'),
} satisfies Record<string, ReasonFacts>

export type CheckReason = keyof typeof CHECK_REASONS

export const REQUEST_REASONS = {
  'not HTTP': badRequest('The request is not HTTP'),
  'request too slow': invalidRequest(408, 'The request took too long'),
  'headers too large': invalidRequest(431, 'The headers are too large'),
  'Host header missing': badRequest('The Host header is missing'),
  'fragment in the address': badRequest('The address must have no fragment'),
  'query in the address': badRequest('The address must have no query', 'The address has a query, the part after “?”'),
  'not a form': badRequest(
    'The Content-Type must be application/x-www-form-urlencoded',
    'The body is not a form: wrong Content-Type',
  ),
  'credentials in a header': badRequest(
    'Credentials belong in the body: leave out the Authorization header',
    'The credentials are in the Authorization header, but belong in the body',
  ),
  'field missing': badRequest('The field {field} is missing', 'A field of the form is missing'),
  'field empty': badRequest('The field {field} is empty', 'A field of the form is empty'),
  'field repeated': badRequest('The field {field} is given more than once', 'A field of the form is sent twice'),
  'Authorization header repeated': badRequest('The Authorization header is given more than once'),
  'Authorization header malformed': badRequest('The Authorization header is malformed'),
  'credentials given twice': badRequest('Credentials are given in two ways', 'The credentials are sent in two ways'),
  'request malformed': badRequest('The request is malformed'),
  'no such endpoint': invalidRequest(404, 'There is no such endpoint: tokens are at POST /v1/oauth/accesstoken'),
  'method not allowed': invalidRequest(405, 'The method is not allowed here: use {field}'),
  'body too large': invalidRequest(413, 'The body is too large', 'The body is too large'),
  'unsupported grant type': {
    status: 400,
    code: 'unsupported_grant_type',
    description: 'The grant_type must be client_credentials',
    words: 'The grant_type is not client_credentials',
  },
  'unsupported response type': {
    status: 400,
    code: 'unsupported_response_type',
    description: 'Nobody signs in here: tokens are at POST /v1/oauth/accesstoken, for client credentials',
    words: 'A program sent a person here to sign in, but tokens are for client credentials only',
  },
  'unknown resource': invalidTarget('No suite has the URL in the field resource'),
  'resource not approved': invalidTarget(
    'The application is not approved for the suite with the URL in the field resource',
  ),
  'no credentials': {
    status: 401,
    code: 'invalid_client',
    description: 'A {field} must authenticate',
    words: 'There are no credentials',
  },
  'too many failures': unavailable(
    429,
    'Too many wrong credentials; try again later',
    'Too many wrong credentials: wait and try again',
  ),
  'token quota exceeded': unavailable(
    429,
    'Too many tokens in this hour; use a token until it expires',
    'The quota of tokens for this hour is used up',
  ),
  'too many imported secrets to check': unavailable(503, 'The server is busy; try again'),
  'too many federated tokens to check': unavailable(503, 'The server is busy; try again'),
  'store unavailable': unavailable(503, 'The server cannot do this now; try again'),
  'unexpected error': { status: 500, code: 'server_error', description: 'The server failed' },
} satisfies Record<string, ReasonFacts>

export type RequestReason = keyof typeof REQUEST_REASONS

/** Why requests would be refused, if an operator did not have that only reported. The answers are those that they would get. */
export const REPORTED_REASONS = {
  'address not allowed (report only)': {
    ...AUTHENTICATION_REASONS['address not allowed'],
    words: 'Would be refused: not sent from a source address of the application',
  },
  'token quota exceeded (report only)': {
    ...REQUEST_REASONS['token quota exceeded'],
    words: 'Would be refused: the quota of tokens for this hour is used up',
  },
} satisfies Record<string, ReasonFacts>

export type ReportedReason = keyof typeof REPORTED_REASONS

export type Reason = CheckReason | AuthenticationReason | RequestReason | ReportedReason

const REFUSED: Record<string, ReasonFacts> = { ...CHECK_REASONS, ...AUTHENTICATION_REASONS, ...REQUEST_REASONS }

const REASONS: typeof REFUSED = { ...REFUSED, ...REPORTED_REASONS }

export const REASON_NAMES: readonly string[] = Object.keys(REFUSED).sort()

/** Undefined for a reason of another version of this program. */
export function factsOf(reason: string): ReasonFacts | undefined {
  return REASONS[reason]
}

/** Whether a token was refused for this reason, not a request or its credentials. */
export function isTokenReason(reason: string): boolean {
  return reason in CHECK_REASONS && !(reason in AUTHENTICATION_REASONS)
}

/** Whether requests were not refused for this reason, because an operator has that only reported. */
export function isReported(reason: string): boolean {
  return reason in REPORTED_REASONS
}

/** Whether requests that fail for this reason are answered with 5xx, because they were not at fault. */
export function isFailure(reason: string): boolean {
  return Number(factsOf(reason)?.status) >= 500
}

/** The answer to every client that is not authenticated, RFC 6749 §5.2. */
function notAuthenticated(words: string): ReasonFacts {
  return { status: 401, code: 'invalid_client', description: 'Unknown client or wrong secret', words }
}

/** The answer to every token that is not active, RFC 6750 §3.1. */
function invalidToken(words: string): ReasonFacts {
  return { status: 401, code: 'invalid_token', description: 'The token is invalid', words }
}

function invalidRequest(status: number, description: string, words?: string): ReasonFacts {
  return { status, code: 'invalid_request', description, words }
}

function badRequest(description: string, words?: string): ReasonFacts {
  return invalidRequest(400, description, words)
}

/** The answer to every resource that an application may not use, RFC 8707 §2. */
function invalidTarget(words: string): ReasonFacts {
  const description = 'The resource is not the URL of a suite that the application is approved for'
  return { status: 400, code: 'invalid_target', description, words }
}

function unavailable(status: number, description: string, words?: string): ReasonFacts {
  return { status, code: 'temporarily_unavailable', description, words }
}
