import * as z from 'zod'
import { type ApplicationField, LIMITS, MAX_CLIENT_ID_LENGTH, type OptionalTexts } from '../domain/application.ts'
import { isIssuerUrl, publicKeysIn } from '../domain/federation.ts'
import { ROLES } from '../domain/operator.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { MAX_FEDERATED } from '../domain/secret.ts'
import { camelCased, sortedByName } from '../domain/text.ts'
import { isDay, timestamp } from '../domain/time.ts'
import { APPLICATION, APPLICATION_TEXTS, LABEL_KEY, LABELS, OPTIONAL_TEXTS, SUITE_URL } from '../views/registry.ts'
import { textInput } from '../views/schema.ts'
import { isRange } from '../web/address.ts'

/** The beginnings of password hashes: bcrypt, Argon2, scrypt, PBKDF2, crypt(3), LDAP. */
const HASH =
  /^(\$(2[abxy]?|argon2(id|i|d)|scrypt|7|s0|pbkdf2(-\w+)?|1|5|6|y|sha256)\$|\{(SSHA|SHA|CRYPT|PBKDF2)\w*(-\w+)?\}|pbkdf2[_:]sha|scrypt:|argon2\$|bcrypt(_sha256)?\$)/i

const NO_SEGMENT = 'must not be . or .., which cannot be a segment of a URL path'

/** `.` and `..` are removed from the path of a URL (RFC 3986 §5.2.4). */
const canBeInPath = (id: string) => id !== '.' && id !== '..'

export const suiteId = textInput('The suite id').regex(
  /^[A-Za-z0-9._~-]{1,100}$/,
  'The suite id must be 1 to 100 characters of A-Z a-z 0-9 - . _ ~',
)

export const fields = camelCased<Record<ApplicationField, z.ZodString>>(APPLICATION_TEXTS)

export const optionalFields = camelCased<Record<keyof OptionalTexts, z.ZodString>>(OPTIONAL_TEXTS)

/** The texts of suites that may be empty. */
export const optionalSuiteFields = { url: SUITE_URL, ...optionalFields }

const QUOTA = 'The quota must be a whole number from 1 to 999,999,999'

const quota = z
  .int(QUOTA)
  .min(1, QUOTA)
  .max(999_999_999, QUOTA)
  .nullable()
  .describe("How many tokens it may get in a clock hour; null for the server's TOKEN_QUOTA")

const SOURCE =
  'A source address must be an IP address without a zone, or a CIDR range such as 192.0.2.0/24, but not /0, which is every address'

/** Each is compared with the address of every request. */
const MAX_SOURCES = 100

const MAX_PUBLIC = 10

/** A list of different texts. */
const listOf = <Item extends z.ZodType>(name: 'source_addresses' | 'public_labels' | 'report_only', item: Item) =>
  z
    .array(item, `${name} must be a list`)
    .overwrite((items) => [...new Set(items)])
    .describe(String(APPLICATION.shape[name].description))

const lists = {
  sourceAddresses: listOf('source_addresses', textInput('A source address').refine(isRange, SOURCE)).max(MAX_SOURCES, {
    error: ({ input }) => `There may be at most ${MAX_SOURCES} source addresses, not ${Object(input).length}`,
  }),
  publicLabels: listOf('public_labels', LABEL_KEY).max(MAX_PUBLIC, `There may be at most ${MAX_PUBLIC} public labels`),
  reportOnly: listOf('report_only', z.enum(LIMITS, `Only these can be reported: ${LIMITS.join(', ')}`)),
}

const extras = z.object({ labels: LABELS, ...optionalFields, quota, ...lists }).partial().shape

// Without patterns and lengths in their schemas, because the API would refuse with words of its own.
const isClaimText = (text: string) => /^[^\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]{1,500}$/u.test(text)

const isTime = (text: string) =>
  isDay(text.slice(0, 10)) && /^.{10}T.*(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text))

const claimInput = (subject: string) =>
  textInput(subject).refine(isClaimText, `${subject} must be 1 to 500 characters on one line`)

const MAX_CLAIMS = 10

const CLAIMS = z
  .record(z.string(), z.string('A claim must be text'), 'The claims must be texts by their names')
  .refine((claims) => !Object.entries(claims).flat().includes(''), { abort: true, error: 'A claim must be name=value' })
  .refine(
    (claims) => Object.entries(claims).flat().every(isClaimText),
    'The name and the value of a claim must be 1 to 500 characters on one line',
  )
  .refine((claims) => Object.keys(claims).length <= MAX_CLAIMS, `There may be at most ${MAX_CLAIMS} claims`)

/** A federated credential, with the names of JSON. What is left out becomes null, or empty. */
export const federatedSchema = z
  .strictObject({
    issuer: claimInput('The issuer').describe('The `iss` of its JWTs: an https URL; any text if `keys` are given'),
    subject: claimInput('The subject')
      .refine((text) => !/[^:/]\*|\*[^:/]/.test(text), 'In the subject, * must be all that is between two of : and /')
      .describe('Their `sub`, in which `*` stands for one segment between `:` and `/`'),
    audience: claimInput('The audience').nullable().optional().describe('One of their `aud`; by default, PUBLIC_URL'),
    claims: CLAIMS.optional().describe('Further claims that they must have, with their values: at most 10'),
    keys: z
      .array(z.record(z.string(), z.unknown()), 'The keys must be a list of JWKs')
      .refine((keys) => !problemOf(keys), { abort: true, error: ({ input }) => String(problemOf(input)) })
      .nullable()
      .optional()
      .describe("The issuer's public keys (JWK); by default, they are fetched from it"),
    ends_at: z
      .string('The end must be a time')
      .refine(isTime, {
        abort: true,
        error: 'The end must be a time with its zone, such as 2027-01-31T12:00:00Z',
      })
      .nullable()
      .optional()
      .describe('When it ends; by default, never'),
  })
  .refine(({ issuer, keys }) => keys || isIssuerUrl(issuer), {
    path: ['issuer'],
    error: 'The issuer must be an https URL without a user, a query or a fragment',
  })
  .refine(({ subject, claims = {} }) => /[^*:/]/.test(subject) || Object.keys(claims).length > 0, {
    path: ['subject'],
    error: 'A subject of * alone is everybody of the issuer: name a part of it, or add a claim',
  })
  // In the order of the view, because entries of lists are compared as texts.
  .overwrite(({ issuer, subject, audience = null, claims = {}, keys = null, ends_at = null }) => ({
    ...{ issuer, subject, audience, claims: sortedByName(claims), keys: keys && publicKeysIn({ keys }) },
    ends_at: ends_at && timestamp(Date.parse(ends_at)),
  }))
  .meta({ title: 'FederatedInput', description: 'Which JWTs are accepted in the place of a secret' })

export type FederatedInput = z.infer<typeof federatedSchema>

const federated = z
  .array(federatedSchema, 'The federated credentials must be a list')
  .refine(
    (rules) => new Set(rules.map((rule) => JSON.stringify(rule))).size === rules.length,
    'One of them is there twice',
  )
  .refine(({ length }) => length <= MAX_FEDERATED, `There may be at most ${MAX_FEDERATED} federated credentials`)
  .optional()

const status = z
  .enum(['active', 'suspended'], { error: 'The status must be active or suspended' })
  .describe('`suspended`: it gets no tokens, and its tokens are refused')

/** client_id and client_secret: RFC 6749 appendix A. */
export const registrationSchema = z.object({
  ...fields,
  clientId: textInput('The client id')
    .refine(
      (clientId) => /^[\x21-\x7e]+$/.test(clientId) && clientId.length <= MAX_CLIENT_ID_LENGTH,
      `The client id must be 1 to ${MAX_CLIENT_ID_LENGTH} printable ASCII characters without spaces`,
    )
    .refine(canBeInPath, `The client id ${NO_SEGMENT}`)
    .describe(
      'A client id that it already has: 1 to 200 printable ASCII characters without spaces. If omitted, it gets a new one',
    )
    .optional(),
  clientSecret: textInput('The client secret')
    .regex(/^[\x20-\x7e]{8,200}$/, 'The client secret must be 8 to 200 printable ASCII characters')
    .refine((secret) => !HASH.test(secret), 'The client secret is a hash: import the secret itself, or rotate it')
    .optional(),
  suites: z
    .union([z.array(z.string()), z.literal('all')])
    .optional()
    .describe('The suites to approve it for, or `"all"` for those that exist at this moment; by default, none'),
  status: status.optional(),
  ...extras,
  federated: federated.describe('Federated credentials. With one of them, it gets no secret unless you import one'),
})

export const updateSchema = z.object({ ...fields, ...extras }).partial()

/** What an operator can set. Status and suites are required: forgetting one must not resume or withdraw anything. */
export const settingsSchema = z.object({
  ...fields,
  status,
  suites: z
    .array(z.string(), 'The suites must be a list')
    .describe('The suites that it is approved for, and no others'),
  ...extras,
  federated: federated.describe('Its federated credentials, and no others: those that are missing here end'),
})

export const importedSecretSchema = registrationSchema.pick({ clientSecret: true }).required()

export const suiteSchema = z.object({
  suiteId: suiteId
    .refine(canBeInPath, `The suite id ${NO_SEGMENT}`)
    .describe('Its id, and the audience of tokens there: 1 to 100 characters of A-Z a-z 0-9 - . _ ~'),
  name: fields.name,
  ...z.object({ labels: LABELS, ...optionalFields, url: SUITE_URL }).partial().shape,
})

/** The most approvals that one transaction changes, because a server on the same store waits for its end. */
export const MAX_APPROVALS = 500

export const approvalsSchema = z.object({
  clientIds: z.array(z.string()).max(MAX_APPROVALS).describe('The client ids of the applications'),
  approved: z.boolean().describe('true to approve them, false to withdraw their approvals'),
})

export const suiteUpdateSchema = suiteSchema.omit({ suiteId: true }).partial()

// Names appear in URLs, logs and command lines, so they must not start with a dash or be `.` or `..`.
export const operatorSchema = z.object({
  name: textInput('The name').regex(
    /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/,
    'The name must be 1 to 64 characters of A-Z a-z 0-9 . _ @ -, and begin with a letter or a digit',
  ),
  role: z.enum(ROLES, { error: 'The role must be admin or viewer' }),
})

/** The list of keys in the text of a JWK Set; if there is none, the text, which the schema refuses. */
export function keysIn(text: string): NonNullable<FederatedInput['keys']> {
  try {
    return JSON.parse(text).keys ?? text
  } catch {
    return text as never
  }
}

/** Why a list of JWKs cannot be used; undefined if it can be. */
function problemOf(keys: unknown): string | undefined {
  try {
    publicKeysIn({ keys })
  } catch (error) {
    return `The keys cannot be used: ${(error as Error).message}`
  }
}

/** Parses an input. Throws OperatorError with everything that is wrong. */
export function valid<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const result = schema.safeParse(input)
  if (result.success) return result.data
  const wrong = result.error.issues.map(({ path: [field, ...within], message }) => {
    // Of a list the wrong item, not its place. An item with fields is left out: the message names the field.
    const list = Object(input)[String(field)] as unknown
    const parts = within.map((key) => (Array.isArray(list) ? list[Number(key)] : key))
    const shown = parts.filter((part) => ['string', 'number'].includes(typeof part))
    return { field: jsonName(String(field)), message: [message, ...shown].join(': ') }
  })
  throw new OperatorError(`${wrong.map(({ message }) => message).join('; ')}.`, { kind: 'invalid', fields: wrong })
}

/** An id must be unique among applications and suites (RFC 6749 §2.2). */
export function takenId(id: string): OperatorError {
  return new OperatorError(`The id ${id} is taken already.`, { kind: 'taken id' })
}

export function jsonNamed<Field>(fields: Record<string, Field>): Record<string, Field> {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [jsonName(name), field]))
}

/** The JSON name of a field: `developer_email`; the id of a suite is `id`. */
function jsonName(name: string): string {
  return name === 'suiteId' ? 'id' : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
