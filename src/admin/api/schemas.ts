import type { FastifySchema } from 'fastify'

// What requests may have, and what answers have. Rules for the values of a body are in administration/rules.ts.

export type Schema = Readonly<Record<string, unknown>>

export const TEXT: Schema = { type: 'string' }
export const NUMBER: Schema = { type: 'integer' }

const TEXT_OR_NULL: Schema = { type: ['string', 'null'] }

/** A time of RFC 3339, or null. */
export const TIME = TEXT_OR_NULL

/** An object of these fields and no others. `optional`: those that may be left out. */
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

/** The parameters of a query, each of which may be left out. They are text: what it may be says `query.ts`. */
export function query(...names: string[]): FastifySchema['querystring'] {
  return object(Object.fromEntries(names.map((name) => [name, TEXT])), { optional: names })
}

/** What is shown of a secret: never the secret, nor what is stored of it. */
export const SECRET = object({
  id: NUMBER,
  origin: TEXT,
  state: TEXT,
  created_at: TIME,
  ends_at: TIME,
  revoked_at: TIME,
  last_used_at: TIME,
})

/** What is stored of an application. */
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

/** What is shown of an operator: never a key or what opens a session, nor what is stored of them. */
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

/** The fields of a subject, whatever it is. The store has made them of what is shown of it. */
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

/** One page of a list. `next`: where it goes on, or null. */
export function pageOf(name: string, item: Schema): Schema {
  return object({ [name]: listOf(item), next: TEXT_OR_NULL })
}
