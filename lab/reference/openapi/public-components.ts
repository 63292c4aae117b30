import * as z from 'zod'
import {
  AUTHENTICATION_REASONS,
  CHECK_REASONS,
  type ErrorAnswer,
  REQUEST_REASONS,
} from '../../../src/domain/reasons.ts'
import { errorBody } from '../../../src/http/wire/refuse.ts'
import { choice, jsonSchema, list, object, text } from '../../../src/views/schema.ts'
import { content, type Examples, lines, type Part, refs } from './document.ts'

// What the operations of the public port have in common.

export const INFO = {
  title: 'oauth-token-server',
  summary: "Access tokens for partners' programs, and checks of these tokens for your APIs",
  license: { name: 'MIT', identifier: 'MIT' },
  description: lines(
    "A partner's program exchanges its client id and secret for an access token (RFC 6749 §4.4) and sends the token",
    'with every request to an API suite. The suite, or the gateway in front of it, asks here whether the token is',
    'valid.',
    '',
    '- The server speaks HTTP/1.1, with TLS if it has a certificate, and never redirects.',
    '- A `GET` endpoint answers `HEAD` too. The check accepts every method.',
    '- Every refusal but the 401 of the gateway check has a JSON body with `error`, which is for programs, and `error_description`, which is for',
    '  people; its wording may change.',
    '- Times are in milliseconds since the epoch in `issued_at`, and in seconds everywhere else.',
  ),
}

export const TAGS = {
  Tokens:
    "For partners' programs. The credentials of the application travel in the body, unless the server also accepts HTTP Basic.",
  Checks: 'For gateways and suites, inside your network.',
  'Discovery and health': lines('For client libraries, load balancers and containers. Nobody has to authenticate.'),
}

export const SECURITY_SCHEMES = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'The access token, as the client sends it (RFC 6750 §2.1). 64 characters; treat it as opaque',
    'x-example': '$TOKEN',
  },
  suite: {
    type: 'http',
    scheme: 'basic',
    description: 'The id and the secret of a suite (RFC 7617)',
    'x-example': 'store:$SUITE_SECRET',
  },
}

const inHeader = (name: string, description: string, more: Part = {}) => ({
  name,
  'x-everywhere': true,
  in: 'header',
  description,
  schema: { type: 'string' },
  ...more,
})

/** Every operation has these. */
export const PARAMETERS: Record<string, Part> = {
  'X-Request-Id': inHeader(
    'X-Request-Id',
    lines(
      "The caller's id for this request: 1 to 64 letters, digits and `_.:#+/=-`. It comes back in the answer and is",
      "in the server's log. Any other text, and one that may be a token or a secret, is ignored.",
    ),
    { example: '6f1f4a7e-0a52-4f2c-9a36-4c7f0c1d2e3f' },
  ),
  'X-Correlation-Id': inHeader(
    'X-Correlation-Id',
    'The same under another name, for callers that have no `X-Request-Id`',
  ),
  traceparent: inHeader(
    'traceparent',
    "The trace that the request belongs to (W3C Trace Context). Its id is in the server's log",
    { example: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  ),
}

const always = (description: string, schema: Part) => ({ 'x-everywhere': true, description, required: true, schema })

const ofClient = (description: string, schema: Part, example: string) => ({
  description,
  required: true,
  schema,
  example,
})

const ID = { type: 'string', pattern: '^[\\w.:#+/=-]{1,64}$' }
const DIGITS = { type: 'string', pattern: '^[0-9]+$' }
const VISIBLE = { type: 'string', pattern: '^[!-~]+$' }

export const CLIENT_ID = 'fGRB0YkSebqKmtSvwMb7Sfa1sR97KK3Z'
export const TOKEN_ID = '01a1fc30-a024-73e7-86e5-25c966d031c4'

/** The headers that name the client of a valid token. */
const CLIENT_HEADERS: Record<string, Part> = {
  'X-Client-Id': ofClient("The application's client id", VISIBLE, CLIENT_ID),
  'X-Application-Name': ofClient(
    lines(
      'Its name, in UTF-8. Spaces, percent signs and all but printable ASCII are percent-encoded; `decodeURIComponent`',
      'gives the text back.',
    ),
    VISIBLE,
    'Demo%20application',
  ),
  'X-Developer-Email': ofClient("Its developer's address, encoded in the same way", VISIBLE, 'developer@demo.example'),
  'X-Application-Labels': {
    ...ofClient(
      lines(
        'The labels of the application that suites and gateways see, `key=value`, separated by commas; left out if there',
        'are none. The values are encoded by `encodeURIComponent`.',
      ),
      VISIBLE,
      'region=EU%20West,tier=gold',
    ),
    required: false,
  },
  'X-Token-Id': ofClient("The token's public id", { type: 'string', format: 'uuid' }, TOKEN_ID),
  'X-Token-Expires': ofClient('When the token expires, in seconds since the epoch', DIGITS, '1795236007'),
}

export const HEADERS: Record<string, Part> = {
  'Cache-Control': always('No cache may store the answer (RFC 6749 §5.1). The metadata does not have this header', {
    const: 'no-store',
  }),
  Pragma: always('The same for old caches. The metadata does not have this header, either', { const: 'no-cache' }),
  'X-Content-Type-Options': always('Browsers must not guess another type', { const: 'nosniff' }),
  'X-Request-Id': always(
    lines(
      "The id of the request, also in the server's log: the caller's id, if it sent one. Quote it when you ask for",
      'help',
    ),
    ID,
  ),
  'X-Correlation-Id': { 'x-everywhere': true, description: "The caller's, if it sent one", schema: ID },
  'Retry-After': ofClient('When it makes sense to try again, in seconds', DIGITS, '5'),
  Connection: {
    'x-everywhere': true,
    description: 'If it is `close`, the connection ends with this answer',
    schema: { type: 'string', enum: ['close', 'keep-alive'] },
  },
  ...CLIENT_HEADERS,
}

const EVERYWHERE = Object.keys(HEADERS).filter((name) => HEADERS[name]?.['x-everywhere'])

/** The headers of an answer: those that are everywhere, then others. */
export function headers(...others: string[]): Part {
  return refs('headers', [...EVERYWHERE, ...others])
}

export const clientHeaders = (): Part => headers(...Object.keys(CLIENT_HEADERS))

/** Those of an answer that may be cached. */
export function cacheableHeaders(): Part {
  return refs(
    'headers',
    EVERYWHERE.filter((name) => name !== 'Cache-Control' && name !== 'Pragma'),
  )
}

const ANSWERS: Record<string, ErrorAnswer> = {
  ...REQUEST_REASONS,
  'not authenticated': AUTHENTICATION_REASONS['unknown client'],
  'invalid token': CHECK_REASONS['unknown token'],
  'not approved': CHECK_REASONS['application not approved'],
  'no such suite': CHECK_REASONS['no such suite'],
}

const REFUSAL = jsonSchema(
  object('Refusal', 'The error body of RFC 6749 §5.2', {
    error: choice([...new Set(Object.values(ANSWERS).map(({ code }) => code))], 'For programs'),
    error_description: text('For people. Printable ASCII without `"` and `\\`').regex(
      /^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/,
    ),
  }),
)

/** The case of a refusal: why it comes about, in words. `field`: what the answer names. */
export function refusal(reason: string, summary: string, field?: string): Examples {
  const value = JSON.parse(errorBody(ANSWERS[reason] as ErrorAnswer, field))
  return { [reason.replaceAll(' ', '-')]: { summary, value } }
}

function everywhere(reason: string, summary: string, field?: string): Examples {
  const entries = Object.entries(refusal(reason, summary, field))
  return Object.fromEntries(entries.map(([name, example]) => [name, { ...example, 'x-everywhere': true }]))
}

/** Cases that several answers have. */
export const EXAMPLES: Examples = {
  ...refusal('query in the address', 'The address has a `?`, whatever follows it'),
  ...refusal('not a form', 'Another `Content-Type`, or none'),
  ...refusal('credentials in a header', 'An `Authorization` header'),
  ...refusal('field missing', 'A field is missing; the answer names it', 'token'),
  ...refusal('field empty', 'A field is empty', 'token'),
  ...refusal('field repeated', 'A field is given more than once, known or not', 'token'),
  ...refusal('Authorization header malformed', 'A `Bearer` header that is not a token'),
  ...refusal('Authorization header repeated', 'More than one `Authorization` header'),
  ...refusal(
    'not authenticated',
    lines(
      'An unknown client, a wrong, expired or revoked secret, a suspended application, or a correct secret from an address',
      'that is not one of its source addresses',
    ),
  ),
  ...refusal('too many failures', 'Too many wrong credentials from this address'),
  ...refusal('too many imported secrets to check', 'Too many imported secrets wait to be checked'),
  ...refusal('too many federated tokens to check', 'Too many JWTs in place of secrets wait to be checked'),
  ...refusal('store unavailable', 'The store cannot be read or written'),
  ...everywhere('fragment in the address', 'The address has a `#`'),
  ...everywhere('Host header missing', 'An HTTP/1.1 request without a `Host`'),
  ...everywhere('not HTTP', 'Bytes that cannot be read as HTTP; the connection is closed'),
  ...everywhere('no such endpoint', 'Another path'),
  ...everywhere('method not allowed', 'Another method, where `POST` is the right one', 'POST'),
  ...everywhere('request too slow', 'The request took longer than 10 seconds to arrive; the connection is closed'),
  ...everywhere('body too large', 'The body is larger than 8 KiB, where one is read; the connection is closed'),
  ...everywhere('headers too large', 'The headers are larger than 16 KiB; the connection is closed'),
  ...everywhere('unexpected error', 'A bug; the log of the server has the details'),
}

/** The cases of EXAMPLES for these reasons. */
export function known(...reasons: string[]): Examples {
  return refs(
    'examples',
    reasons.map((reason) => reason.replaceAll(' ', '-')),
  )
}

/** An answer that refuses. */
export function refused(description: string, examples: Examples, others: Part = {}): Part {
  return {
    description,
    headers: { ...headers(), ...others },
    ...content('application/json', REFUSAL, examples),
  }
}

export const RETRY_AFTER = refs('headers', ['Retry-After'])

const allow = (description: string, methods: string) => ({
  Allow: { description, required: true, schema: { const: methods } },
})

/** Answers that are the same at several operations. */
export const RESPONSES: Record<string, Part> = {
  BadGet: refused('The request is malformed.', known('fragment in the address', 'Host header missing', 'not HTTP')),
  NoSuchEndpoint: refused('No endpoint has this path.', known('no such endpoint')),
  OnlyPost: refused(
    'The endpoint does not accept this method.',
    known('method not allowed'),
    allow('The right method', 'POST'),
  ),
  OnlyGet: refused(
    'The endpoint does not accept this method.',
    everywhere('method not allowed', 'Another method, where `GET` and `HEAD` are the right ones', 'GET or HEAD'),
    allow('The right methods', 'GET, HEAD'),
  ),
  TooSlow: refused('The request took too long to arrive.', known('request too slow')),
  BodyTooLarge: refused('The body is larger than 8 KiB.', known('body too large')),
  HeadersTooLarge: refused('The headers are too large.', known('headers too large')),
  Failed: refused('A bug. The log of the server has the details.', known('unexpected error')),
  Unavailable: refused('The store cannot be used now.', known('store unavailable'), RETRY_AFTER),
}

const url = (description: string) => text(description).meta({ format: 'uri' })
const words = (description: string) => list(description, z.string())

const METADATA_FIELDS = jsonSchema(
  z.object({
    issuer: url('`PUBLIC_URL`'),
    authorization_endpoint: url('Refuses every request: some client libraries accept no metadata without it'),
    token_endpoint: url('Where tokens are requested'),
    token_endpoint_auth_methods_supported: words(
      'How applications authenticate there, as `CLIENT_AUTHENTICATION` allows',
    ),
    token_endpoint_auth_signing_alg_values_supported: words(
      'The algorithms of client assertions, if `CLIENT_AUTHENTICATION` names `jwt`',
    ).optional(),
    grant_types_supported: words('The only grant'),
    response_types_supported: words('None: the authorization endpoint refuses every request'),
    introspection_endpoint: url('Where suites ask about tokens: `INTROSPECTION_URL`, if it is set'),
    introspection_endpoint_auth_methods_supported: words('How suites authenticate there'),
    revocation_endpoint: url('Where applications revoke tokens'),
    revocation_endpoint_auth_methods_supported: words('How applications authenticate there, the same'),
    revocation_endpoint_auth_signing_alg_values_supported: words('The algorithms there, the same').optional(),
    service_documentation: url('Where people read about this server, if `DOCS_URL` is set').optional(),
  }),
)

/** Fields may be added to it (RFC 8414). */
export const METADATA = { title: 'Metadata', ...METADATA_FIELDS, additionalProperties: undefined }

const RESOURCE_FIELDS = jsonSchema(
  z.object({
    resource: url("The suite's URL"),
    authorization_servers: words('Where its tokens are: `PUBLIC_URL`'),
    bearer_methods_supported: words('How the token is sent'),
  }),
)

/** Fields may be added to it (RFC 9728). */
export const RESOURCE_METADATA = { title: 'ResourceMetadata', ...RESOURCE_FIELDS, additionalProperties: undefined }

export const HEALTH = jsonSchema(
  object('Health', 'The state of the server', { status: z.literal('ok').describe('It works') }),
)
