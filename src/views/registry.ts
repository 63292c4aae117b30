import * as z from 'zod'
import { type Application, type ApplicationColumn, LIMITS, type OptionalColumn } from '../domain/application.ts'
import type { PublicFieldsOf } from '../domain/audit-event.ts'
import { type Operator, ROLES } from '../domain/operator.ts'
import { type HandOverLink, originOf, type Secret } from '../domain/secret.ts'
import { resourceUrl, type Suite } from '../domain/suite.ts'
import { sortedByName, visible, visibleOnOneLine } from '../domain/text.ts'
import { timestamp } from '../domain/time.ts'
import { choice, lineInput, list, object, shownTexts, text, textInput, time, VISIBLE, view, whole } from './schema.ts'

const MAX_LABELS = 20

export const LABEL_KEY = textInput('The key of a label').regex(
  /^[a-z0-9]([a-z0-9._/-]{0,61}[a-z0-9])?$/,
  'The key of a label must be 1 to 63 characters of a-z 0-9 . _ - /, and begin and end with a letter or a digit',
)

const LABEL = z.object({ key: LABEL_KEY, value: lineInput('The value of a label') })

export const LABELS = z
  .record(z.string(), z.string(), 'The labels must be texts by their keys')
  .superRefine((labels, context) => {
    for (const [key, value] of Object.entries(labels)) {
      for (const { message } of LABEL.safeParse({ key, value }).error?.issues ?? []) {
        context.addIssue({ code: 'custom', path: [key], message })
      }
    }
  })
  .refine((labels) => Object.keys(labels).length <= MAX_LABELS, `There may be at most ${MAX_LABELS} labels`)
  // Always in the same order, because a change is a difference of the stored texts.
  .overwrite(sortedByName)
  .describe('Labels: at most 20 keys of a-z 0-9 . _ - / (63 characters), each with a value of up to 200 characters')

const NOTE = textInput('The note')
  .overwrite((note) => note.replace(/\r\n?/g, '\n').trimEnd())
  .max(2000, 'The note may have at most 2,000 characters')
  .refine((note) => visible(note) === note && note.isWellFormed(), 'The note must not have control characters')
  .describe('A note for operators: up to 2,000 characters, several lines; empty for none')

export const MANAGED_BY = textInput('What manages it')
  .max(200, 'What manages it may have at most 200 characters')
  .refine(
    (name) => visibleOnOneLine(name) === name && name.trim() === name && VISIBLE.test(name) && name.isWellFormed(),
    'What manages it must be visible text on one line, without spaces around it',
  )
  .describe('The file or the program that manages it, behind whose back nobody should change it; empty for none')

/** The rules of texts that may be empty, by their names in JSON, which are also their columns. */
export const OPTIONAL_TEXTS = { note: NOTE, managed_by: MANAGED_BY } satisfies Record<OptionalColumn, z.ZodString>

/** The same for a view, with the labels. */
export const SHOWN_ANNOTATIONS = { labels: LABELS, ...shownTexts(OPTIONAL_TEXTS) }

const appliedAt = time('When a change last named what manages it; null if nothing does').nullable()

export const APPLICATION_TEXTS = {
  name: lineInput('The name').describe('Its name: 1 to 200 characters'),
  developer_email: textInput('The developer email')
    .max(254, 'The developer email may have at most 254 characters')
    .regex(
      /^[^\s@\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]+@[^\s@\p{Cc}\p{Cs}\p{Default_Ignorable_Code_Point}]+$/u,
      'The developer email must be an email address',
    )
    .describe('The contact address of its developer'),
} satisfies Record<ApplicationColumn, z.ZodString>

export const SUITE_URL = textInput('The URL')
  .max(500, 'The URL may have at most 500 characters')
  .refine(
    (url) => url === '' || resourceUrl(url) !== undefined,
    'The URL must be an https URL without a user, a query or a fragment (http for this machine only)',
  )
  .refine((url) => url.length > 500 || (resourceUrl(url) ?? '').length <= 500, {
    error: 'The URL may have at most 500 characters, percent-encoded',
  })
  .overwrite((url) => resourceUrl(url) ?? '')
  .describe('The URL of the API, for which clients ask tokens for it alone (the resource of RFC 8707); empty for none')

const FEDERATED_RULE = object('FederatedRule', 'What a JWT must have to stand for a secret', {
  issuer: text('Its claim `iss`'),
  subject: text('Its claim `sub`, in which `*` stands for one segment'),
  audience: text('One of the values of its claim `aud`; null for PUBLIC_URL').nullable(),
  claims: z.record(z.string(), z.string()).describe('Further claims, and the value that each must have'),
  keys: list(
    'The public keys of the issuer (JWK); null if they are fetched from it',
    z.record(z.string(), z.string()),
  ).nullable(),
})

const FEDERATED = object('FederatedCredential', 'What a JWT must have to stand for a secret, and until when', {
  ...FEDERATED_RULE.shape,
  ends_at: time('When it ends or ended; null if never').nullable(),
})

export const APPLICATION = object('ApprovedApplication', 'An application that is approved for a suite', {
  client_id: text('The client id'),
  ...shownTexts(APPLICATION_TEXTS),
  status: choice(['active', 'suspended'], 'A suspended application gets no tokens, and its tokens are refused'),
  suites: list('The suites that it is approved for', z.string()),
  created_at: time('When it was registered'),
  tokens_valid_from: time('When all its tokens were last revoked; null if never').nullable(),
  ...SHOWN_ANNOTATIONS,
  quota: whole("How many tokens it may get in a clock hour; null for the server's TOKEN_QUOTA").nullable(),
  source_addresses: list('The addresses and CIDR ranges that it may authenticate from; empty for all', z.string()),
  public_labels: list('The keys of the labels that suites and gateways see, at most 10', z.string()),
  report_only: list('What is reported instead of refused', choice(LIMITS, 'A limit')),
  applied_at: appliedAt,
  federated: list('The federated credentials that were not removed, oldest first', FEDERATED),
})

/** What a registration can set. */
export const NEW_APPLICATION = APPLICATION.omit({ created_at: true, tokens_valid_from: true, applied_at: true })

/** The source of a view of an application, which may have more fields. */
export function applicationSource<Shown extends Application>({ tokensValidFrom, ...application }: Shown) {
  const federated = application.secrets.flatMap(({ federated, endsAt, revokedAt }) =>
    federated && revokedAt === null ? { ...federated, endsAt } : [],
  )
  return { ...application, tokensValidFrom: tokensValidFrom || null, federated }
}

export const applicationFields = (application: Application) => view(APPLICATION, applicationSource(application))

export const SUITE = object('ListedSuite', 'A suite in a list', {
  id: text('Its id, and the audience of tokens there'),
  name: text('Its name'),
  created_at: time('When it was registered'),
  ...SHOWN_ANNOTATIONS,
  applied_at: appliedAt,
  ...shownTexts({ url: SUITE_URL }),
})

/** The source of a view of a suite, which may have more fields. */
export const suiteSource = <Shown extends Suite>({ suiteId: id, ...suite }: Shown) => ({ id, ...suite })

export const suiteFields = (suite: Suite) => view(SUITE, suiteSource(suite))

export const SECRET = object('Secret', 'A secret without its value, or a federated credential', {
  id: whole('Its id'),
  origin: choice(
    ['generated', 'imported', 'federated'],
    'generated: made by this server; imported: it existed before; federated: a JWT of a platform stands for it',
  ),
  federated: FEDERATED_RULE.nullable().meta({
    title: 'FederatedRuleOfSecret',
    description: 'What such a JWT must have; null for a secret',
  }),
  state: choice(['active', 'expired', 'revoked'], 'Only an active one is accepted'),
  created_at: time('When it was added'),
  ends_at: time('When it ends or ended; null if never').nullable(),
  revoked_at: time('When it was revoked; null if it was not').nullable(),
  last_used_at: time('When it was last used, at most a minute out of date; null if never').nullable(),
  last_used_from: text('The address from which it was last used; null if unknown').nullable(),
})

export const OWNED_SECRET = object('OwnedSecret', 'A secret and its owner', {
  kind: choice(['application', 'suite'], 'Whether its owner is an application or a suite'),
  owner: text('The client id of the application, or the id of the suite'),
  name: text('The name of the owner'),
  ...SECRET.shape,
})

const AUDITED = SECRET.omit({ state: true, last_used_at: true, last_used_from: true, federated: true })

/** A secret in audit events, without its last use: a use is not a change. Rules are in the field `federated` of applications. */
function secretFields(secret: Secret) {
  return view(AUDITED, { ...secret, origin: originOf(secret) })
}

export const ADMIN_KEY = object('AdminKey', 'An admin key, without its value', {
  id: whole('Its id'),
  state: choice(['active', 'expired', 'revoked'], 'Only an active one is accepted'),
  created_at: time('When it was made'),
  ends_at: time('When it ends or ended'),
  revoked_at: time('When it was revoked; null if it was not').nullable(),
  last_used_at: time('When it was last used, at most a minute out of date; null if never').nullable(),
})

export const SESSION = object('Session', 'A session in the console, without its cookie', {
  id: whole('Its id'),
  created_at: time('When it began'),
  remote_address: text('The address at sign-in'),
  user_agent: text('The User-Agent of the browser'),
  last_seen_at: time('When it was last used, at most a minute out of date'),
  ends_at: time('When it ends, unless it is used again'),
})

export const OPERATOR = object('Operator', 'A person or a program that uses this API or the console', {
  name: text('The name in the log and in audit events'),
  role: choice(ROLES, 'A viewer can look, but not change anything'),
  email: text('The email address, or the user name, at the identity provider; null if unknown').nullable(),
  created_at: time('When the operator was added'),
  keys: list('Oldest first, including ended ones', ADMIN_KEY),
  sessions: list('The sessions that have not ended', SESSION),
})

/** An operator in audit events, without times of use: a use is not a change. */
const AUDITED_OPERATOR = OPERATOR.extend({
  keys: ADMIN_KEY.omit({ state: true, last_used_at: true }).array(),
  sessions: SESSION.omit({ last_seen_at: true, ends_at: true }).array(),
  login_links: ADMIN_KEY.pick({ created_at: true, ends_at: true }).array(),
})

const AUDITED_APPLICATION = APPLICATION.omit({ applied_at: true })
const AUDITED_SUITE = SUITE.omit({ applied_at: true })

/** What a change can change. Usage is not part of it, nor when it was applied. */
export const PUBLIC_FIELDS = {
  application: (stored: Application) => ({
    ...view(AUDITED_APPLICATION, applicationSource(stored)),
    secrets: stored.secrets.map(secretFields),
  }),
  suite: (stored: Suite) => ({
    ...view(AUDITED_SUITE, suiteSource(stored)),
    secrets: stored.secrets.map(secretFields),
  }),
  operator: (stored: Operator) => view(AUDITED_OPERATOR, stored),
  'hand-over links': (stored: HandOverLink[]) => ({
    hand_over_links: stored.map(({ id, endsAt }) => ({ id, ends_at: timestamp(endsAt) })),
  }),
} satisfies PublicFieldsOf
