import { STATUS_CODES } from 'node:http'
import { PROBLEM_CODES, type ProblemCode } from '../../../src/admin/wire/problem.ts'
import { AUDIT_ACTIONS } from '../../../src/domain/events.ts'
import { PERIOD_NAMES } from '../../../src/domain/usage.ts'
import { choice, jsonSchema, list, object, text, whole } from '../../../src/views/schema.ts'
import { type Examples, lines, type Part, ref } from './document.ts'

// What the operations of the administration API have in common.

export const INFO = {
  title: 'oauth-token-server: administration',
  summary: 'Manage applications, suites and their secrets, and read who changed what',
  license: { name: 'MIT', identifier: 'MIT' },
  description: lines(
    'With this API your programs do what operators do with commands. It is on a separate port, `ADMIN_ADDRESS`,',
    'which clients cannot reach. [admin-api.md](admin-api.md) shows the first call.',
    '',
    '- Each request needs an admin key: `Authorization: Bearer otsa_…`. A **viewer** can use `GET`, an **admin**',
    '  every call. Only commands add operators and keys.',
    '- `GET` routes also answer `HEAD`. Bodies are JSON. Unknown fields and parameters are refused.',
    '- Errors are problems (RFC 9457). `code` is for programs; `errors` lists the fields that are wrong.',
    '- Times are RFC 3339, in UTC. Lists have at most `limit` entries per page; `next` is the cursor of the next page.',
    '- Client ids can contain any printable ASCII character, also `/`: percent-encode them in a path.',
    '- Every change is one audit event, with the operator, the address and the request id.',
  ),
}

export const TAGS = {
  Applications: 'The clients that get tokens. By default, a client id has 32 letters and digits.',
  'Secrets of applications': lines(
    'An application authenticates with a secret. Only the answer to the call that makes a secret contains it;',
    'the database has a digest.',
  ),
  Suites: 'The APIs that tokens are for. A suite authenticates like an application, to ask about tokens.',
  Export: 'What is registered, as a file for `token-server apply`.',
  Operators: lines(
    'The people and programs that use this API and the console. Calls can end their access, but never give access:',
    'no call makes a credential.',
  ),
  Audit: 'Who changed what, and from where, for 400 days.',
  Refusals: 'Which requests and token checks were refused, and why.',
  Statistics: 'The figures of the last hour.',
}

const inPath = (name: string, description: string, example: string | number) => {
  const schema = typeof example === 'string' ? { type: 'string', minLength: 1 } : { type: 'integer', minimum: 1 }
  return { name, in: 'path', required: true, description, schema, example }
}

const inQuery = (name: string, description: string, { example, ...schema }: Part = {}) => ({
  name,
  in: 'query',
  description,
  schema: { type: 'string', ...schema },
  ...(example !== undefined && { example }),
})

/** What base64url makes of a whole number from 1, with up to 15 digits: three digits have four characters. Others are refused. */
const CURSOR = {
  pattern: [
    '^(M[Qgw]|N[AQgw]|O[AQ]|(M[Tjz]|N[DTjz]|O[DT])[AEIMQUYcgk]([w-z0-5]',
    '(([MN][DTjz]|O[DT])[AEIMQUYcgk][w-z0-5]){0,3}([MN][AQgw]|O[AQ]|([MN][DTjz]|O[DT])[AEIMQUYcgk][w-z0-5]?)?)?)$',
  ].join(''),
}

const LIMIT = { type: 'integer', minimum: 1, maximum: 200, default: 50 }

export const CLIENT_ID = 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z'

export const PARAMETERS: Record<string, { name: string } & Part> = {
  client_id: inPath('client_id', 'The client id, percent-encoded', CLIENT_ID),
  suite_id: inPath('suite_id', 'The id of the suite', 'store'),
  secret_id: inPath('id', 'The id of the secret', 3),
  suite_secret_id: inPath('id', 'The id of the secret', 1),
  operator_name: inPath('name', 'The name of the operator', 'anna'),
  key_id: inPath('id', 'The id of the admin key', 1),
  session_id: inPath('id', 'The id of the session', 1),
  search: inQuery('search', 'Only applications that contain all these words, in any order and case', {
    example: 'demo',
  }),
  status: inQuery('status', 'Only applications with this status', {
    enum: ['active', 'suspended'],
    example: 'active',
  }),
  approved_suite: inQuery('suite', 'Only applications that are approved for this suite', { example: 'store' }),
  label: inQuery(
    'label',
    'Only those with this label: `key=value`, or a key. Repeat it for several, which must all match',
    {
      type: 'array',
      items: { type: 'string' },
      example: ['environment=production'],
    },
  ),
  limit: inQuery('limit', 'How many entries the page has at most', LIMIT),
  after: inQuery('after', 'The `next` of the previous page; leave it out for the first page', CURSOR),
  force: inQuery('force', 'Revoke it even if it is the last active secret', { type: 'boolean', default: false }),
  refusal_search: inQuery(
    'search',
    'Only requests of clients with all these words in the id or the name, in any order and case',
  ),
  since: inQuery('since', 'Only those at this time or later, RFC 3339 with a zone', { format: 'date-time' }),
  until: inQuery('until', 'Only those before this time, RFC 3339 with a zone', { format: 'date-time' }),
  action: inQuery('action', 'Only events of this action', { enum: AUDIT_ACTIONS }),
  audit_search: inQuery(
    'search',
    'Only changes to what has all these words in its id or its name, in any order and case',
  ),
  actor: inQuery(
    'actor',
    'Only changes by this operator (name or email address), or by this user of the operating system',
  ),
  audit_subject: inQuery('subject', 'Only changes to this client id, suite, operator or database', {
    example: CLIENT_ID,
  }),
  request_id: inQuery('request_id', 'Only requests with this `X-Request-Id`, also in capitals or small letters only', {
    example: '3ed9e1cb5f4d1ee3cb00',
  }),
  audit_request_id: inQuery(
    'request_id',
    'Only changes by this request. Those of one click in the console have one in common',
  ),
  client_id_filter: inQuery('client_id', 'Only requests with this client id, as the list has it'),
  suite_filter: inQuery('suite', 'Only requests about this suite'),
  reason: inQuery('reason', 'Only requests that were refused for this reason'),
  endpoint: inQuery('endpoint', 'Only requests to this endpoint'),
  remote_address: inQuery('remote_address', 'Only requests from this address'),
  audit_limit: inQuery('limit', 'How many entries the page has at most', { ...LIMIT, example: 1 }),
  before: inQuery('before', 'The `next` of the previous page; leave it out for the first page', CURSOR),
  period: inQuery('period', 'The period, up to now', { enum: PERIOD_NAMES, default: '24h', example: '1h' }),
  dry_run: inQuery('dry_run', 'With `true`, the answer says what would change, and nothing is changed', {
    type: 'boolean',
    default: false,
  }),
  'If-Match': {
    name: 'If-Match',
    in: 'header',
    description: lines(
      'The `ETag` of the application or suite as you know it. If it was changed since, the answer is 412, and nothing is',
      'changed. `*`: it must exist',
    ),
    schema: { type: 'string' },
  },
  'Idempotency-Key': {
    name: 'Idempotency-Key',
    in: 'header',
    description: lines(
      'A name that you give this request, a new UUID for example: 1 to 255 printable ASCII characters. If an answer',
      'is lost, the same request with the same name and the same admin key gets the same answer again, for 24 hours,',
      'and changes nothing. Without this header, a request that is sent twice is carried out twice',
    ),
    schema: { type: 'string', pattern: '^[!-~]([ -~]{0,253}[!-~])?$' },
  },
}

const header = (description: string, schema: Part) => ({ description, required: true, schema })

const always = (description: string, schema: Part) => ({ 'x-everywhere': true, ...header(description, schema) })

/** Those that are `x-everywhere` are headers of every answer. */
export const HEADERS: Record<string, Part> = {
  'Cache-Control': always('No cache may store the answer', { const: 'no-store' }),
  'Content-Security-Policy': always('A browser that shows the answer loads and runs nothing', { type: 'string' }),
  'Cross-Origin-Opener-Policy': always('Windows of other sites cannot access the answer', { const: 'same-origin' }),
  'Cross-Origin-Resource-Policy': always('Pages of other sites cannot embed the answer', { const: 'same-origin' }),
  'Referrer-Policy': always('The address is not sent to other sites', { const: 'no-referrer' }),
  'X-Content-Type-Options': always('Browsers must not guess another type', { const: 'nosniff' }),
  'X-Request-Id': always(
    lines(
      "The id of the request in the log and in audit events: the caller's `X-Request-Id`, or else its",
      '`X-Correlation-Id`, or else a new one',
    ),
    { type: 'string', pattern: '^[\\w.:#+/=-]{1,64}$' },
  ),
  Connection: {
    'x-everywhere': true,
    description: 'It is `close` if the connection ends after this answer',
    schema: { type: 'string', enum: ['close', 'keep-alive'] },
  },
  Location: header('The path of the new resource', { type: 'string', pattern: '^/admin/v1/' }),
  'Idempotent-Replayed': {
    description: 'This is the answer to an earlier call; nothing was changed now',
    schema: { const: 'true' },
  },
  ETag: header('Identifies this state, for `If-Match`. Every change makes another one; usage does not', {
    type: 'string',
    pattern: '^"[A-Za-z0-9_-]{22}"$',
  }),
  Allow: header('The methods that this path has', { type: 'string', pattern: '^[A-Z]+(, [A-Z]+)*$' }),
  'Retry-After': {
    ...header('How many seconds to wait before you try again', { type: 'string', pattern: '^[0-9]+$' }),
    example: '5',
  },
  'WWW-Authenticate': {
    ...header('How to authenticate (RFC 6750 §3)', { type: 'string', pattern: '^Bearer realm=' }),
    examples: {
      'no-key': { summary: 'Without a key', value: 'Bearer realm="admin"' },
      'not-an-admin-key': { summary: 'With a wrong one', value: 'Bearer realm="admin", error="invalid_token"' },
    },
  },
}

const WRONG_FIELD = object('WrongField', 'A field that is wrong', {
  detail: text('What is wrong with it'),
  pointer: text('The place in the body, a JSON Pointer (RFC 6901)').regex(/^#/),
})

export const PROBLEM = jsonSchema(
  object('Problem', 'An error (RFC 9457 §3). Its `type` is `about:blank`', {
    title: text('The name of the status'),
    status: whole('The status'),
    code: choice(Object.keys(PROBLEM_CODES), 'What is wrong, for programs; a later version may have more codes'),
    detail: text('What is wrong, for people; the wording may change'),
    errors: list('The fields that are wrong', WRONG_FIELD).optional(),
  }),
)

/** The example of a problem. */
export function problem(
  summary: string,
  code: ProblemCode,
  detail: string,
  errors?: { detail: string; pointer: string }[],
) {
  const status = PROBLEM_CODES[code]
  return { summary, value: { title: STATUS_CODES[status], status, code, detail, ...(errors && { errors }) } }
}

/** The example of a problem with one field, whose name comes before what is wrong with it. */
export function wrongField(summary: string, field: string, detail: string) {
  return problem(summary, 'invalid', `The field ${field} ${detail}.`, [{ detail, pointer: `#/${field}` }])
}

/** The example of a wrong value of a parameter. */
const badParameter = (name: string, summary: string, rule: string) =>
  problem(summary, 'malformed', `The parameter ${name} must be ${rule}.`)

const everywhere = (example: ReturnType<typeof problem>) => ({ 'x-everywhere': true, ...example })

const NOT_NEXT = ['A cursor that is not from `next`', 'the value of next in the previous page'] as const
const NOT_BOOLEAN = ['Not `true` or `false`', 'true or false'] as const
const NOT_TIME = ['A time without a zone, for example', 'a time with its zone, such as 2026-01-31T12:00:00Z'] as const

/** Examples that several answers have. */
export const EXAMPLES: Examples = {
  'not-HTTP': everywhere(
    problem('Bytes that cannot be read as HTTP; the connection is closed', 'malformed', 'This request cannot be read.'),
  ),
  'bad-limit': badParameter('limit', 'Not a number, or above 200', 'a whole number from 1 to 200'),
  'bad-status': badParameter('status', 'Another status', 'active or suspended'),
  'bad-cursor': badParameter('after', ...NOT_NEXT),
  'bad-before': badParameter('before', ...NOT_NEXT),
  'bad-force': badParameter('force', ...NOT_BOOLEAN),
  'bad-dry-run': badParameter('dry_run', ...NOT_BOOLEAN),
  'bad-since': badParameter('since', ...NOT_TIME),
  'bad-period': badParameter('period', 'Another period', PERIOD_NAMES.join(' or ')),
  'bad-until': badParameter('until', ...NOT_TIME),
  'bad-action': badParameter('action', 'Another action', AUDIT_ACTIONS.join(' or ')),
  'unknown-parameter': problem('A parameter that is not described', 'malformed', 'The parameter page is unknown.'),
  'not-json': problem('The body is not valid JSON', 'malformed', 'The body is not valid JSON.'),
  'bad-idempotency-key': problem(
    'A key with more than 255 characters, or with characters other than printable ASCII',
    'malformed',
    'The Idempotency-Key must be 1 to 255 printable ASCII characters.',
  ),
  'taken-id': problem('An application or a suite has this id', 'id_taken', 'The id store is taken already.'),
  'store-moved': everywhere(
    problem(
      'The store was copied with `store copy`',
      'refused',
      'The store moved to postgres://db.example:5432/tokens at 2027-01-15T09:02:00.000Z: name that in DATABASE_URL. ' +
        'To allow changes here again, run "token-server store reopen".',
    ),
  ),
  'wrong-value': problem('A value that is not allowed', 'invalid', 'The name must not be empty.', [
    { detail: 'The name must not be empty', pointer: '#/name' },
  ]),
  'unknown-suite': problem('A suite that does not exist', 'invalid', 'There is no suite with the id nowhere.', [
    { detail: 'There is no suite with the id nowhere', pointer: '#/suites' },
  ]),
  'unknown-field': wrongField('A field that is not described', 'colour', 'is unknown'),
  'wrong-overlap': wrongField('More than 365 days', 'overlap_seconds', 'must be 31536000 or less'),
  'key-reused': problem(
    'The key was used for another request',
    'idempotency_key_reused',
    'This idempotency key was used for another request, or by another login or admin key: use a new one.',
  ),
  'no-such-application': problem(
    'No application has this client id',
    'not_found',
    'There is no application with the client id nobody.',
  ),
  'no-such-suite': problem('No suite has this id', 'not_found', 'There is no suite with the id nowhere.'),
  'no-such-operator': problem('No operator has this name', 'not_found', 'There is no operator with the name nobody.'),
}

/** The example of a wrong value of a parameter. */
export const WRONG_PARAMETER: Record<string, string> = {
  limit: 'bad-limit',
  audit_limit: 'bad-limit',
  status: 'bad-status',
  after: 'bad-cursor',
  before: 'bad-before',
  force: 'bad-force',
  dry_run: 'bad-dry-run',
  since: 'bad-since',
  period: 'bad-period',
  until: 'bad-until',
  action: 'bad-action',
  'Idempotency-Key': 'bad-idempotency-key',
}

/** What is not found if a parameter of the path is wrong. */
export const NOT_FOUND: Record<string, Examples> = {
  client_id: { 'no-such-application': ref('examples', 'no-such-application') },
  suite_id: { 'no-such-suite': ref('examples', 'no-such-suite') },
  secret_id: { 'no-such-secret': problem('There is no such secret', 'not_found', `${CLIENT_ID} has no secret 99.`) },
  suite_secret_id: { 'no-such-secret': problem('There is no such secret', 'not_found', 'store has no secret 99.') },
  operator_name: { 'no-such-operator': ref('examples', 'no-such-operator') },
  key_id: { 'no-such-key': problem('The operator has no such key', 'not_found', 'The operator anna has no key 99.') },
  session_id: {
    'no-such-session': problem('The operator has no such session', 'not_found', 'The operator anna has no session 99.'),
  },
}

interface ResponseText {
  description: string
  examples: Examples
  /** Besides those of every answer. */
  headers?: string[]
}

/** Answers that are the same at several operations. */
export const RESPONSES: Record<string, ResponseText> = {
  Malformed: {
    description: 'The request is malformed.',
    examples: {
      'unknown-parameter': ref('examples', 'unknown-parameter'),
      'not-HTTP': ref('examples', 'not-HTTP'),
    },
  },
  Unauthenticated: {
    description: 'There is no admin key, or it is not valid.',
    headers: ['WWW-Authenticate'],
    examples: {
      'no-key': everywhere(
        problem('No `Authorization` header', 'no_credentials', 'An admin key is needed: Authorization: Bearer otsa_…'),
      ),
      'not-an-admin-key': everywhere(
        problem(
          'A key that is malformed, unknown, expired or revoked; the log has the real reason',
          'invalid_key',
          'This admin key is not valid.',
        ),
      ),
    },
  },
  Viewer: only(
    'The operator is a viewer.',
    'viewer',
    problem(
      'A change with the key of a viewer',
      'forbidden',
      'A viewer can see everything, but change nothing: ask an admin.',
    ),
  ),
  MethodNotAllowed: {
    ...only(
      'The path does not have this method.',
      'method-not-allowed',
      problem('Another method', 'method_not_allowed', 'The methods allowed here are GET, HEAD, POST.'),
    ),
    headers: ['Allow'],
  },
  Moved: {
    description: 'The store has moved to another database.',
    examples: { 'store-moved': ref('examples', 'store-moved') },
  },
  AnotherVersion: only(
    'It was changed in the meantime.',
    'another-version',
    problem(
      'An `If-Match` that is not the current `ETag`',
      'version_mismatch',
      'It is not in the state that If-Match names: read it again before you change it.',
    ),
  ),
  TooSlow: only(
    'The request took too long to arrive.',
    'too-slow',
    problem('More than 10 seconds; the connection is closed', 'request_too_slow', 'The request took too long.'),
  ),
  TooLarge: only(
    'The body is too large.',
    'too-large',
    problem('More than 64 KiB', 'body_too_large', 'The body is too large.'),
  ),
  PathTooLong: only(
    'A part of the path is too long.',
    'path-too-long',
    problem('More than 1024 characters', 'path_too_long', 'URI Too Long'),
  ),
  NotJson: only(
    'The body is not JSON.',
    'other-type',
    problem(
      'The `Content-Type` is missing or not JSON',
      'unsupported_media_type',
      'This content type is not accepted. The API takes application/json.',
    ),
  ),
  AnotherHost: only(
    'The `Host` is not one that the admin listener answers to.',
    'another-host',
    problem('Another host name', 'wrong_host', 'This server does not answer for this host: check ADMIN_URL.'),
  ),
  HeadersTooLarge: only(
    'The headers are too large.',
    'headers-too-large',
    problem('More than 16 KiB; the connection is closed', 'headers_too_large', 'The headers are too large.'),
  ),
  Failed: only(
    "A bug. The server's log has the details.",
    'unexpected-error',
    problem('A bug', 'server_error', 'The server failed.'),
  ),
  Unavailable: {
    ...only(
      'The database cannot be used now, or too many of your requests are waiting.',
      'store-unavailable',
      problem(
        'The database cannot be read or written',
        'store_unavailable',
        'The database cannot be used now. Try again.',
      ),
    ),
    headers: ['Retry-After'],
  },
}

/** A response with one case. */
function only(description: string, name: string, example: ReturnType<typeof problem>): ResponseText {
  return { description, examples: { [name]: everywhere(example) } }
}
