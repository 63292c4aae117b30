import { VERSION } from '../../../src/version.ts'
import { content, type Examples, lines, type Part, ref, withSchemas } from './document.ts'
import {
  introspectionRequest,
  introspectionResponse,
  revocationRequest,
  tokenRequest,
  tokenResponse,
} from './forms-and-answers.ts'
import {
  CLIENT_ID,
  cacheableHeaders,
  clientHeaders,
  EXAMPLES,
  HEADERS,
  HEALTH,
  headers,
  INFO,
  known,
  METADATA,
  PARAMETERS,
  RESOURCE_METADATA,
  RESPONSES,
  RETRY_AFTER,
  refusal,
  refused,
  SECURITY_SCHEMES,
  TAGS,
  TOKEN_ID,
} from './public-components.ts'

const TOKEN = 'AaH8MKAkc-eG5SXJZtAxxEEXAMPLE_token_EXAMPLE_token_EXAMPLE_token_'
const CLIENT_SECRET = 'EXAMPLEexampleEXAMPLEexampleEXAMPLEexamp'
const ISSUER = 'https://token.example'

/** The example of a token response. */
const NEW_TOKEN = {
  access_token: TOKEN,
  token_type: 'bearer',
  expires_in: 3599,
  scope: '',
  application_name: 'Demo application',
  'developer.email': 'developer@demo.example',
  issued_at: '1795232407588',
  client_id: CLIENT_ID,
}

/** The OpenAPI description of the public port. */
export function publicDocument(): Part {
  return withSchemas({
    openapi: '3.1.1',
    info: { ...INFO, version: VERSION },
    servers: [
      {
        url: '{auth_url}',
        description: 'Where clients reach the server; operators set it as `PUBLIC_URL`',
        variables: { auth_url: { default: 'http://localhost:8080' } },
      },
    ],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths: {
      '/v1/oauth/accesstoken': { parameters: everyRequest(), post: requestToken() },
      '/v1/oauth/revoke': { parameters: everyRequest(), post: revokeToken() },
      '/v1/oauth/verify/{suite}': checkForSuite(),
      '/v1/oauth/verify': check(),
      '/v1/oauth/introspect': { parameters: everyRequest(), post: introspectToken() },
      '/v1/oauth/authorize': authorize(),
      '/.well-known/oauth-authorization-server': metadata(),
      '/.well-known/oauth-protected-resource/{suite}': resourceMetadata(),
      '/health/live': live(),
      '/health/ready': ready(),
    },
    components: {
      securitySchemes: SECURITY_SCHEMES,
      parameters: PARAMETERS,
      headers: HEADERS,
      examples: EXAMPLES,
      responses: RESPONSES,
    },
  })
}

function everyRequest(): Part[] {
  return Object.keys(PARAMETERS).map((name) => ref('parameters', name))
}

const answered = (response: string) => ref('responses', response)

const json = (schema: Part, examples: Examples) => content('application/json', schema, examples)

/** A form with the fields of a schema, described. */
function form(
  description: string,
  title: string,
  schema: Part,
  fields: Record<string, Part>,
  examples: Examples,
): Part {
  const properties = schema.properties as Record<string, Part>
  const described = Object.entries(fields).map(([name, field]) => [name, { ...properties[name], ...field }])
  const body = { ...schema, title, additionalProperties: undefined, properties: Object.fromEntries(described) }
  return { required: true, description, ...content('application/x-www-form-urlencoded', body, examples) }
}

const CREDENTIALS = {
  client_id: { description: 'The identifier of the application' },
  client_secret: { description: 'Its secret, or the JWT of a federated credential' },
}

/** HTTP Basic and client assertions are settings, so they are described in words: generated clients send what every server accepts. */
const BASIC = [
  'Where `CLIENT_AUTHENTICATION` names `basic`, HTTP Basic is accepted instead of `client_id` and `client_secret`, both',
  'parts form-encoded (RFC 6749 §2.3.1). The metadata list the accepted methods. By default an `Authorization` header is',
  'refused. Where it names `jwt`, a `client_assertion` with its `client_assertion_type` is accepted, too (RFC 7523 §2.2).',
]

/** The header of a 401 for HTTP Basic. */
const CHALLENGE_TO_HEADER = {
  'WWW-Authenticate': {
    description: 'Only if the request has an `Authorization` header, where HTTP Basic is accepted (RFC 7617 §2)',
    schema: { type: 'string', const: 'Basic realm="applications", charset="UTF-8"' },
  },
}

function requestToken(): Part {
  return {
    tags: ['Tokens'],
    operationId: 'requestToken',
    summary: 'Request an access token',
    description: lines(
      "Exchanges the application's client id and secret for a token that is valid for 60 minutes. Keep it and use it",
      'until it expires; then ask for another one.',
      '',
      'The token is on disk before it is answered.',
      '',
      'The address has no query, not even an empty one. The `Content-Type` is required; `; charset=utf-8` behind it is',
      'accepted.',
      '',
      ...BASIC,
    ),
    security: [],
    requestBody: form(
      lines(
        'Each field once. A field that is not listed is ignored, `scope` too. Ids and secrets that this server made',
        'consist of letters and digits and need no encoding; percent-encode what was imported.',
      ),
      'TokenRequest',
      tokenRequest,
      {
        grant_type: {
          minLength: undefined,
          const: 'client_credentials',
          description: 'The only grant',
        },
        ...CREDENTIALS,
        resource: {
          type: 'string',
          description: lines(
            'The URL of a suite (RFC 8707): the token is valid at that suite alone. If it is omitted, or no suite has a',
            'URL, the token is valid at every suite that the application is approved for',
          ),
        },
      },
      {
        credentials: {
          summary: 'The credentials of an application',
          value: { grant_type: 'client_credentials', client_id: CLIENT_ID, client_secret: CLIENT_SECRET },
        },
      },
    ),
    responses: tokenAnswers(),
  }
}

function tokenAnswers(): Part {
  return {
    200: {
      description: 'A new token.',
      headers: headers(),
      ...json(tokenResponse, {
        credentials: {
          summary: 'A token for the next 60 minutes',
          value: NEW_TOKEN,
        },
      }),
    },
    400: refused('The request is malformed.', {
      ...known('query in the address', 'not a form', 'credentials in a header'),
      ...refusal('field missing', 'A field is missing; the answer names it', 'client_secret'),
      ...refusal('field empty', 'A field is empty', 'client_id'),
      ...refusal('field repeated', 'A field is given more than once, known or not', 'grant_type'),
      ...refusal('unsupported grant type', 'Another `grant_type`'),
      ...refusal('unknown resource', 'A `resource` that is not the URL of a suite, where any suite has one'),
      ...refusal(
        'resource not approved',
        'The `resource` is the URL of a suite that the application is not approved for',
      ),
      ...known('fragment in the address', 'Host header missing', 'not HTTP'),
    }),
    401: refused(
      lines(
        'The client is not authenticated. The answer is the same for every reason; the log of the server has the real',
        'one.',
      ),
      known('not authenticated'),
      CHALLENGE_TO_HEADER,
    ),
    ...formAnswers(),
    429: refused(
      lines(
        'Too many wrong credentials came from this address, or the application has used up its hourly quota. The',
        'answer takes one to two seconds.',
      ),
      {
        ...known('too many failures'),
        ...refusal('token quota exceeded', 'More tokens than `TOKEN_QUOTA` allows the application in a clock hour'),
      },
      RETRY_AFTER,
    ),
    503: busyOrUnavailable(),
  }
}

/** What every endpoint that reads a form answers. */
function formAnswers(): Part {
  return {
    404: answered('NoSuchEndpoint'),
    405: answered('OnlyPost'),
    408: answered('TooSlow'),
    413: answered('BodyTooLarge'),
    431: answered('HeadersTooLarge'),
    500: answered('Failed'),
  }
}

function busyOrUnavailable(): Part {
  return refused(
    'The store cannot be used now, or too many imported secrets or JWTs wait to be checked.',
    known('store unavailable', 'too many imported secrets to check', 'too many federated tokens to check'),
    RETRY_AFTER,
  )
}

function revokeToken(): Part {
  return {
    tags: ['Tokens'],
    operationId: 'revokeToken',
    summary: 'Revoke an access token',
    description: lines(
      "Revokes one of the application's own tokens (RFC 7009). The answer is 200 for any token: one that is unknown,",
      'belongs to another application or was revoked before is left as it is. A check that begins after the answer',
      'sees the revocation.',
      '',
      ...BASIC,
    ),
    security: [],
    requestBody: form(
      'Each field once. A field that is not listed is ignored, `token_type_hint` too.',
      'RevocationRequest',
      revocationRequest,
      { ...CREDENTIALS, token: { description: 'The access token to revoke' } },
      {
        'own-token': {
          summary: 'A token of the application',
          value: { client_id: CLIENT_ID, client_secret: CLIENT_SECRET, token: TOKEN },
        },
      },
    ),
    responses: {
      200: {
        description: "The token is not valid any more, or never was the application's. The body is empty.",
        headers: headers(),
      },
      400: refused('The request is malformed.', {
        ...known('query in the address', 'not a form', 'credentials in a header'),
        ...known('field missing', 'field empty', 'field repeated'),
        ...known('fragment in the address', 'Host header missing', 'not HTTP'),
      }),
      401: refused(
        'The client is not authenticated. The answer is the same for every reason.',
        known('not authenticated'),
        CHALLENGE_TO_HEADER,
      ),
      ...formAnswers(),
      429: refused(
        'Too many wrong credentials came from this address. The answer takes one to two seconds.',
        known('too many failures'),
        RETRY_AFTER,
      ),
      503: busyOrUnavailable(),
    },
  }
}

/** The methods that OpenAPI has words for; the check accepts every one. */
const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options']

/** A check by any method; GET stands for all. */
function byAnyMethod(suffix: string, forWhat: string, get: Part, responses: Part): Part {
  const operations = METHODS.map((method) => {
    const word = method === 'get' ? '' : `${method.charAt(0).toUpperCase()}${method.slice(1)}`
    const article = method === 'options' ? 'an' : 'a'
    const operation = {
      tags: ['Checks'],
      operationId: `check${word}${suffix}`,
      summary: `Check ${article} ${method.toUpperCase()} request${forWhat}`,
      ...(method === 'get' && get),
      security: [{ bearer: [] }],
      responses,
    }
    return [method, operation]
  })
  return Object.fromEntries(operations)
}

function suiteInPath(description: string, example: string): Part {
  return { name: 'suite', in: 'path', required: true, description, schema: { type: 'string' }, example }
}

function checkForSuite(): Part {
  const suite = suiteInPath('The id of a registered suite', 'store')
  const get = {
    summary: 'Check a request for a suite',
    description: lines(
      'May a request with this `Authorization` header pass to that suite? A gateway asks before it forwards a request,',
      "with the client's own header and no credentials of its own.",
      '',
      'Every method is accepted, including those that OpenAPI cannot describe. What a gateway appends to the suite, a',
      'path and a query, is ignored: `/v1/oauth/verify/store/orders?page=2` is the same as `/v1/oauth/verify/store`. A',
      'body is not read. An empty suite, `/v1/oauth/verify/`, is 404.',
    ),
  }
  const responses = {
    200: {
      description: 'The token is valid, and its application is approved for the suite. The body is empty.',
      headers: clientHeaders(),
    },
    400: refused('The request is malformed.', {
      ...known('Authorization header malformed', 'Authorization header repeated'),
      ...refusal('request malformed', 'The percent-encoding of the suite is wrong'),
      ...known('Host header missing', 'not HTTP'),
    }),
    401: noValidToken(),
    403: refused(
      'The token is valid, but its application is not approved for the suite.',
      refusal('not approved', 'The application is not approved for the suite'),
      challenge(`${REALM}, error="insufficient_scope", error_description="[^"]+"$`, {
        'not-approved': {
          summary: 'Not approved',
          value:
            `Bearer realm="${ISSUER}", error="insufficient_scope", ` +
            'error_description="The application is not approved for this suite"',
        },
      }),
    ),
    404: refused(
      'There is no such suite, whatever the token is.',
      refusal('no such suite', 'An unknown suite, or an empty one'),
    ),
    ...checkAnswers(),
  }
  return {
    'x-any-method': true,
    parameters: [...everyRequest(), suite],
    ...byAnyMethod('ForSuite', ' for a suite', get, responses),
  }
}

function check(): Part {
  const get = {
    summary: 'Check a request without a suite',
    description: 'The same without a suite: every valid token passes. Any method is accepted, and a query is ignored.',
  }
  const responses = {
    200: { description: 'The token is valid. The body is empty.', headers: clientHeaders() },
    400: refused('The request is malformed.', {
      ...known('Authorization header malformed', 'Authorization header repeated', 'Host header missing', 'not HTTP'),
    }),
    401: noValidToken(),
    ...checkAnswers(),
  }
  return { 'x-any-method': true, parameters: everyRequest(), ...byAnyMethod('', '', get, responses) }
}

function checkAnswers(): Part {
  return {
    408: answered('TooSlow'),
    431: answered('HeadersTooLarge'),
    500: answered('Failed'),
    503: answered('Unavailable'),
  }
}

/** The metadata are those of a suite with a URL. */
const REALM = '^Bearer realm="[^"]+"(, resource_metadata="[^"]+")?'

function challenge(pattern: string, examples: Examples): Part {
  const schema = { type: 'string', pattern }
  return {
    'WWW-Authenticate': {
      description: 'The challenge of RFC 6750 §3; of a suite with a URL, with `resource_metadata` (RFC 9728 §5.1)',
      required: true,
      schema,
      examples,
    },
  }
}

function noValidToken(): Part {
  return refused(
    lines(
      'There is no token, or it is invalid: malformed, unknown, expired, revoked, or for another suite alone, or its',
      'application is suspended or removed. Where there is no token, another scheme than `Bearer`, or nothing behind it, the body is empty.',
    ),
    refusal(
      'invalid token',
      'The token is malformed, unknown, expired, revoked or for another suite alone, or its application is suspended or removed',
    ),
    challenge(`${REALM}(, error="invalid_token", error_description="[^"]+")?$`, {
      'no-token': { summary: 'No token', value: `Bearer realm="${ISSUER}"` },
      'invalid-token': {
        summary: 'The token is invalid',
        value: `Bearer realm="${ISSUER}", error="invalid_token", error_description="The token is invalid"`,
      },
    }),
  )
}

function introspectToken(): Part {
  const byBasic = { summary: "The suite's credentials are in the header", value: { token: TOKEN } }
  const inTheBody = {
    summary: "The suite's credentials are in the body",
    value: { token: TOKEN, client_id: 'store', client_secret: 'EXAMPLEexampleEXAMPLEexampleEXAMPLEsuite' },
  }
  return {
    tags: ['Checks'],
    operationId: 'introspectToken',
    summary: 'Introspect a token',
    description: lines(
      'A suite asks what a token is (RFC 7662), with its own id and secret: by HTTP Basic, or as `client_id` and',
      '`client_secret` in the body, never both. Both halves of Basic credentials are form-encoded (RFC 6749 §2.3.1);',
      'for secrets that this server made this changes nothing.',
    ),
    security: [{ suite: [] }, {}],
    requestBody: form(
      'Each field once. A field that is not listed is ignored, `token_type_hint` too.',
      'IntrospectionRequest',
      { ...introspectionRequest, required: ['token'] },
      {
        token: { type: 'string', minLength: 1, description: 'The access token that is asked about' },
        client_id: { type: 'string', description: 'The id of the suite, if it does not use HTTP Basic' },
        client_secret: { type: 'string', description: 'Its secret, if it does not use HTTP Basic' },
      },
      { 'by-basic': byBasic, 'in-the-body': inTheBody },
    ),
    responses: introspectionAnswers(),
  }
}

function introspectionAnswers(): Part {
  return {
    200: introspected(),
    400: refused('The request is malformed.', {
      ...known('query in the address', 'not a form'),
      ...refusal('field missing', 'The field `token` is missing or empty', 'token'),
      ...known('field repeated'),
      ...refusal('credentials given twice', 'A secret in the body and an `Authorization` header'),
      ...refusal(
        'Authorization header malformed',
        'The base64 of a `Basic` header is malformed, or the id or the secret in it is not printable ASCII',
      ),
      ...known('Authorization header repeated', 'fragment in the address', 'Host header missing', 'not HTTP'),
    }),
    401: refused(
      'The suite is not authenticated. The credentials of an application are not accepted.',
      {
        ...refusal(
          'no credentials',
          'No credentials, or a `Basic` header without a colon or with invalid percent-encoding',
          'suite',
        ),
        ...known('not authenticated'),
      },
      {
        'WWW-Authenticate': {
          description: 'The challenge of RFC 7617 §2',
          required: true,
          schema: { const: 'Basic realm="suites", charset="UTF-8"' },
          example: 'Basic realm="suites", charset="UTF-8"',
        },
      },
    ),
    ...formAnswers(),
    503: answered('Unavailable'),
  }
}

function introspected(): Part {
  const active = {
    active: true,
    client_id: CLIENT_ID,
    sub: CLIENT_ID,
    aud: 'store',
    iss: ISSUER,
    jti: TOKEN_ID,
    token_type: 'bearer',
    iat: 1795232407,
    exp: 1795236007,
    application_name: 'Demo application',
    'developer.email': 'developer@demo.example',
    labels: { region: 'EU West', tier: 'gold' },
  }
  // One schema for both kinds of tokens: generated clients do not get along with alternatives. Fields may be added.
  const either = { title: 'IntrospectionResponse', ...introspectionResponse, additionalProperties: undefined }
  return {
    description: lines(
      'What the token is. A token that is invalid for any reason, or whose application is not approved for the asking',
      'suite, is `{"active":false}` and nothing more. `aud` is the id of the suite; if the token is for that suite alone,',
      "it is the suite's URL.",
    ),
    headers: headers(),
    ...json(either, {
      active: { summary: 'A valid token', value: active },
      inactive: { summary: 'Any other token', value: { active: false } },
    }),
  }
}

/** GET and HEAD, which have the same answers. */
function read(
  operation: { operationId: string; summary: string; description: string },
  head: Part,
  responses: Part,
  parameters: Part[] = [],
) {
  const about = { tags: ['Discovery and health'], security: [], responses }
  const all = [...everyRequest(), ...parameters]
  return { parameters: all, get: { ...operation, ...about }, head: { ...head, ...about } }
}

function readAnswers(): Part {
  return {
    400: answered('BadGet'),
    404: answered('NoSuchEndpoint'),
    405: answered('OnlyGet'),
    408: answered('TooSlow'),
    431: answered('HeadersTooLarge'),
  }
}

function authorize(): Part {
  const { 400: _, ...others } = readAnswers()
  return read(
    {
      operationId: 'authorize',
      summary: 'No authorization endpoint',
      description: lines(
        'Refuses every request: nobody signs in here, and tokens are for client credentials only. Some client libraries',
        'accept no metadata without such an endpoint (RFC 6749 §3.1). The query is not logged.',
      ),
    },
    { operationId: 'headAuthorize', summary: 'No authorization endpoint, the headers only' },
    {
      400: refused('There is no response type.', {
        ...refusal('unsupported response type', 'Every request'),
        ...known('fragment in the address', 'Host header missing', 'not HTTP'),
      }),
      ...others,
    },
  )
}

function resourceMetadata(): Part {
  // As at an unknown path, another method is 404.
  const { 405: _, ...answers } = readAnswers()
  const value = {
    resource: 'https://mcp.example/mcp',
    authorization_servers: [ISSUER],
    bearer_methods_supported: ['header'],
  }
  return read(
    {
      operationId: 'getResourceMetadata',
      summary: 'Metadata of a suite',
      description: lines(
        'What a client finds out about a suite with a URL (RFC 9728). The gateway check names this address in the',
        '`resource_metadata` of its challenge. Gateways forward here what comes to',
        '`/.well-known/oauth-protected-resource` at the host of the suite. A suite without a URL has none.',
      ),
    },
    { operationId: 'headResourceMetadata', summary: 'Metadata of a suite, the headers only' },
    {
      200: {
        description: 'The metadata.',
        headers: headers(),
        ...json(RESOURCE_METADATA, { metadata: { summary: 'A suite with a URL', value } }),
      },
      ...answers,
      500: answered('Failed'),
      503: answered('Unavailable'),
    },
    [suiteInPath('The id of a suite with a URL', 'mcp')],
  )
}

function metadata(): Part {
  const value = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/v1/oauth/authorize`,
    token_endpoint: `${ISSUER}/v1/oauth/accesstoken`,
    token_endpoint_auth_methods_supported: ['client_secret_post'],
    grant_types_supported: ['client_credentials'],
    response_types_supported: [],
    introspection_endpoint: `${ISSUER}/v1/oauth/introspect`,
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    revocation_endpoint: `${ISSUER}/v1/oauth/revoke`,
    revocation_endpoint_auth_methods_supported: ['client_secret_post'],
  }
  return read(
    {
      operationId: 'getMetadata',
      summary: 'Metadata',
      description: lines(
        'What client libraries find out about this server by themselves (RFC 8414). The only answer that may be',
        'cached.',
      ),
    },
    { operationId: 'headMetadata', summary: 'Metadata, the headers only' },
    {
      200: {
        description: 'The metadata, with `PUBLIC_URL` as the issuer.',
        headers: cacheableHeaders(),
        ...json(METADATA, { metadata: { summary: `A server at ${ISSUER}`, value } }),
      },
      ...readAnswers(),
    },
  )
}

function healthy(): Part {
  return {
    description: 'It works.',
    headers: headers(),
    ...json(HEALTH, { ok: { summary: 'It works', value: { status: 'ok' } } }),
  }
}

function live(): Part {
  return read(
    {
      operationId: 'getLive',
      summary: 'Is the process alive?',
      description: 'For a supervisor that restarts a process that hangs. The store is not asked.',
    },
    { operationId: 'headLive', summary: 'Is the process alive? The headers only' },
    { 200: healthy(), ...readAnswers() },
  )
}

function ready(): Part {
  return read(
    {
      operationId: 'getReady',
      summary: 'Can it do its work?',
      description: 'For load balancers. The store can be read and written, as far as is known.',
    },
    { operationId: 'headReady', summary: 'Can it do its work? The headers only' },
    { 200: healthy(), ...readAnswers(), 500: answered('Failed'), 503: answered('Unavailable') },
  )
}
