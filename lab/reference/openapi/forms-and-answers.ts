import * as z from 'zod'
import { flag, jsonSchema, object, text, whole } from '../../../src/views/schema.ts'

const constant = <const Value extends string | boolean>(value: Value, description: string) =>
  z.literal(value).describe(description)

// The schemas of the forms and answers of the public port, which its routes read and write without schemas.

export const tokenRequest = formSchema(['grant_type', 'client_id', 'client_secret'])
export const revocationRequest = formSchema(['client_id', 'client_secret', 'token'])

/** Which fields are required depends on how the suite authenticates. */
export const introspectionRequest = formSchema([])

/** Requires these fields, not empty, and allows any others; none may be repeated (RFC 6749 §3.2). */
function formSchema(required: string[]) {
  return {
    type: 'object',
    required,
    properties: Object.fromEntries(required.map((name) => [name, { type: 'string', minLength: 1 }])),
    additionalProperties: { type: 'string' },
  }
}

/** The eight fields of the contract, in its order. */
export const tokenResponse = jsonSchema(
  object('TokenResponse', 'Exactly these eight fields, in this order', {
    access_token: text('The token, opaque to the client').min(1),
    token_type: constant('bearer', 'In lower case'),
    expires_in: whole('The remaining lifetime in seconds, just under 3600 for a fresh token').min(0).max(3600),
    scope: constant('', 'Empty'),
    application_name: text('The name of the application that the credentials belong to'),
    'developer.email': text(
      "The contact address of the application's developer. The name of this field contains a dot",
    ),
    issued_at: text('The time of issue, in milliseconds since the epoch').regex(/^[0-9]{13}$/),
    client_id: text('The identifier of the application'),
  }),
)

const ACTIVE_TOKEN = object(
  'ActiveToken',
  'A token that is valid, of an application that is approved for the asking suite',
  {
    active: constant(true, 'The token is valid, and its application is approved for the asking suite'),
    client_id: text('The identifier of the application'),
    sub: text('The same identifier'),
    aud: text('The asking suite: its id or, if the token is for this suite alone, its URL'),
    iss: text('Where clients find this server, `PUBLIC_URL`').meta({ format: 'uri' }),
    jti: text("The token's public id, which the server's log has too").meta({ format: 'uuid' }),
    token_type: constant('bearer', 'In lower case'),
    iat: whole('When the token was issued, in seconds since the epoch'),
    exp: whole('When it expires, in seconds since the epoch'),
    application_name: text('The name of the application'),
    'developer.email': text('The contact address of its developer'),
    labels: z
      .record(z.string(), z.string())
      .describe('The labels of the application that suites and gateways see; left out if there are none'),
  },
)

/** One schema for both answers. */
export const introspectionResponse = jsonSchema(
  ACTIVE_TOKEN.partial().extend({ active: flag('Whether the token is valid') }),
)
