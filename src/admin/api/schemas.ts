import type { FastifySchema } from 'fastify'

// JSON schemas of requests and answers. The rules for the values of a body are in administration/rules.ts.

export type Schema = Readonly<Record<string, unknown>>

export const TEXT: Schema = { type: 'string' }
export const NUMBER: Schema = { type: 'integer' }

const TEXT_OR_NULL: Schema = { type: ['string', 'null'] }

/** A time of RFC 3339, or null. */
export const TIME = TEXT_OR_NULL

/** An object with these fields and no others. All are required but `optional`. */
export function object(properties: Record<string, Schema>, { optional = [] as string[] } = {}): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name))
  return { type: 'object', additionalProperties: false, required, properties }
}

function orNull(schema: Schema): Schema {
  return { ...schema, type: ['object', 'null'] }
}

export function listOf(items: Schema): Schema {
  return { type: 'array', items }
}

/** Optional query parameters, as text. query.ts checks their values. */
export function query(...names: string[]): FastifySchema['querystring'] {
  return object(Object.fromEntries(names.map((name) => [name, TEXT])), { optional: names })
}

/** A secret as it is listed: neither the secret nor its digest. */
export const SECRET = object({
  id: NUMBER,
  origin: TEXT,
  state: TEXT,
  created_at: TIME,
  ends_at: TIME,
  revoked_at: TIME,
  last_used_at: TIME,
})

const APPLICATION = {
  client_id: TEXT,
  name: TEXT,
  developer_email: TEXT,
  status: TEXT,
  suites: listOf(TEXT),
  created_at: TIME,
  tokens_valid_from: TIME,
}

const WITH_SECRETS = { ...APPLICATION, last_token_at: TIME, secrets: listOf(SECRET) }

export const APPROVED_APPLICATION = object(APPLICATION)

export const LISTED_APPLICATION = object({
  ...APPLICATION,
  last_token_at: TIME,
  tokens_this_hour: NUMBER,
  tokens_last_hour: NUMBER,
})

export const SHOWN_APPLICATION = object(WITH_SECRETS)

const SUITE = { id: TEXT, name: TEXT, created_at: TIME }

export const LISTED_SUITE = object(SUITE)

export const SHOWN_SUITE = object({ ...SUITE, secrets: listOf(SECRET) })

const REFUSALS = listOf(
  object({
    client_id: TEXT,
    reason: TEXT,
    endpoint: TEXT,
    suite: TEXT_OR_NULL,
    remote_address: TEXT,
    count: NUMBER,
    first_at: TIME,
    last_at: TIME,
    request_id: TEXT_OR_NULL,
    trace_id: TEXT_OR_NULL,
  }),
)

export const EXPLANATION = object({
  client_id: TEXT,
  diagnosis: TEXT,
  refusals_known_until: TIME,
  tokens_known_until: TIME,
  application: orNull(object({ ...WITH_SECRETS, tokens_this_hour: NUMBER, tokens_refused_this_hour: NUMBER })),
  suite: orNull(SHOWN_SUITE),
  refusals: REFUSALS,
  similar_refusals: REFUSALS,
  similar_applications: listOf(object({ client_id: TEXT, name: TEXT })),
})

/** An operator, without keys, session references and their digests. */
export const OPERATOR = object({
  name: TEXT,
  role: TEXT,
  created_at: TIME,
  keys: listOf(
    object({ id: NUMBER, state: TEXT, created_at: TIME, ends_at: TIME, revoked_at: TIME, last_used_at: TIME }),
  ),
  sessions: listOf(
    object({
      id: NUMBER,
      created_at: TIME,
      last_seen_at: TIME,
      ends_at: TIME,
      remote_address: TEXT,
      user_agent: TEXT,
    }),
  ),
})

/** Public fields of any subject. The store leaves out secrets and digests. */
const FIELDS = { type: ['object', 'null'], additionalProperties: true }

export const AUDIT_EVENT = object({
  id: NUMBER,
  at: TIME,
  actor: TEXT,
  origin: TEXT,
  remote_address: TEXT,
  request_id: TEXT_OR_NULL,
  action: TEXT,
  subject: object({ kind: TEXT, id: TEXT }),
  before: FIELDS,
  after: FIELDS,
})

/** One page of a list. `next`: the cursor of the next page, or null. */
export function pageOf(name: string, item: Schema): Schema {
  return object({ [name]: listOf(item), next: TEXT_OR_NULL })
}
