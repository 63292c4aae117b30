import { extrasOf } from '../domain/application.ts'
import { type AuditEvent, SUBJECT_KINDS } from '../domain/audit-event.ts'
import type { Session } from '../domain/operator.ts'
import {
  ADMIN_KEY,
  APPLICATION,
  applicationSource,
  NEW_APPLICATION,
  OPERATOR,
  SECRET,
  SESSION,
  SUITE,
  suiteFields,
  suiteSource,
} from '../views/registry.ts'
import { choice, fields, list, object, type SourceOf, text, time, view, whole } from '../views/schema.ts'
import type { RegisteredApplication, ShownApplication } from './applications.ts'
import type { Diagnosis } from './diagnosis.ts'
import type { ListedAdminKey, ListedOperator } from './operators.ts'
import type { ListedApplication } from './search.ts'
import type { RegisteredSuite, ShownSuite } from './suites.ts'
import type { Explanation } from './why.ts'

// The JSON of the commands and of the administration API.

export { timestamp } from '../domain/time.ts'
export { suiteFields as suiteView }

const lastTokenAt = time('When it last got a token, up to a minute late; null if never').nullable()
const tokensThisHour = whole('How many tokens it got in the last 60 minutes, up to a minute late')
const tokensLastHour = whole('How many tokens it got in the 60 minutes before that')

const SECRETS = list('Oldest first', SECRET)

export const LISTED_APPLICATION = object('ListedApplication', 'An application in a list', {
  ...APPLICATION.shape,
  tokens_this_hour: tokensThisHour,
  tokens_last_hour: tokensLastHour,
  last_token_at: lastTokenAt,
})

export const SHOWN_APPLICATION = object('Application', 'An application with its secrets', {
  ...APPLICATION.shape,
  last_token_at: lastTokenAt,
  secrets: SECRETS,
})

export const SHOWN_SUITE = object('Suite', 'A suite with its secrets', { ...SUITE.shape, secrets: SECRETS })

const REFUSALS = object('Refusals', 'Refusals of one kind', {
  client_id: text('The client id; for an unknown one, only its beginning and its length'),
  reason: text('The real reason, as in the log'),
  endpoint: text('The endpoint that refused'),
  suite: text('The suite that was asked for; null if none').nullable(),
  remote_address: text('The address that the request came from'),
  detail: text('What exactly was wrong with the last request; null if the reason says it all').nullable(),
  count: whole('How many times'),
  first_at: time('The time of the first one'),
  last_at: time('The time of the last one'),
  request_id: text('The id of the last request').nullable(),
  trace_id: text('The trace id of the last request; null if it had none').nullable(),
})

const SIMILAR_APPLICATION = object('SimilarApplication', 'An application with a similar client id', {
  client_id: APPLICATION.shape.client_id,
  name: APPLICATION.shape.name,
})

const IN_TROUBLE = object(
  'ApplicationInTrouble',
  'The application with its secrets and its tokens; null if no application has this client id',
  {
    ...SHOWN_APPLICATION.shape,
    tokens_this_hour: tokensThisHour,
    tokens_last_hour: tokensLastHour,
    tokens_refused_this_hour: whole('How many tokens its quota refused in the current clock hour, in UTC'),
  },
)

export const EXPLANATION = object('Explanation', 'Why a client is refused, as far as the server knows', {
  client_id: text('The client id that was asked about'),
  diagnosis: text('What is most likely wrong and what to do, for people: a line for each reason, the newest first'),
  refusals_known_until: time('Later refusals may be missing'),
  tokens_known_until: time('Later tokens and uses of secrets may be missing'),
  application: IN_TROUBLE.nullable(),
  suite: SHOWN_SUITE.nullable().meta({
    title: 'SuiteInTrouble',
    description: 'The suite with its secrets; null if no suite has this id',
  }),
  refusals: list('Newest first', REFUSALS),
  similar_refusals: list('Refusals of unknown client ids that look like this one', REFUSALS),
  similar_applications: list('If the client id is unknown, applications with a similar one', SIMILAR_APPLICATION),
})

export const AUDIT_EVENT = object('AuditEvent', 'A change, and who made it', {
  id: whole('Later events have higher ids'),
  at: time('When the change was made'),
  actor: text("The operator's name; for commands, the operating system's user"),
  actor_email: text(
    "The operator's email address, or user name, at the identity provider when the change was made; null if unknown",
  ).nullable(),
  origin: choice(['command line', 'API', 'console', 'hand-over link'], 'How the change was made'),
  remote_address: text(
    'The address that the request came from, and the proxy: `192.0.2.1 via 127.0.0.1`. For commands, the name of the machine',
  ),
  request_id: text('The id of the request, as in the log; null for commands').nullable(),
  action: text('What was done, with the name that the log uses'),
  subject: object('Subject', 'What was changed', {
    kind: choice(SUBJECT_KINDS, 'Its kind'),
    id: text('Its client id, id or name; of a warning, what it was about and since when'),
  }),
  before: fields('The changed fields before the change; null if it did not exist'),
  after: fields('The same fields after the change; null if it was removed'),
})

export const listedApplicationView = (listed: ListedApplication) => view(LISTED_APPLICATION, applicationSource(listed))

export const shownApplicationView = (shown: ShownApplication) => view(SHOWN_APPLICATION, applicationSource(shown))

const REGISTERED = NEW_APPLICATION.omit({ suites: true, federated: true })

/** Includes a generated secret, which is shown only once. An answer stored by an older version may lack some fields. */
export function registeredApplicationView(registered: RegisteredApplication) {
  const { clientSecret, status = 'active' } = registered
  const { client_id, ...fields } = view(REGISTERED, { ...registered, status, ...extrasOf(registered) })
  return { client_id, ...(clientSecret !== undefined && { client_secret: clientSecret }), ...fields }
}

export const shownSuiteView = (suite: ShownSuite) => view(SHOWN_SUITE, suiteSource(suite))

/** Includes the secret, which is shown only once. */
export function registeredSuiteView({ suiteId, clientSecret, name, ...annotations }: RegisteredSuite) {
  const { url = '', labels = {}, note = '', managedBy = '' } = annotations
  const texts = { name, url, labels, note, managed_by: managedBy }
  return { id: suiteId, client_id: suiteId, client_secret: clientSecret, ...texts }
}

export const secretView = (secret: SourceOf<typeof SECRET>) => view(SECRET, secret)
export type SecretView = ReturnType<typeof secretView>

export const operatorView = (operator: ListedOperator) => view(OPERATOR, operator)

export const adminKeyView = (key: ListedAdminKey) => view(ADMIN_KEY, key)

export const sessionView = (session: Session) => view(SESSION, session)

/** The whole diagnosis as text, one line per cause. */
export function diagnosisText({ lines, elsewhere }: Diagnosis): string {
  return lines.concat(elsewhere ?? []).join('\n')
}

export function explanationView({ application, suite, knownUntil, ...explanation }: Explanation) {
  return view(EXPLANATION, {
    ...explanation,
    diagnosis: diagnosisText(explanation),
    refusalsKnownUntil: knownUntil.refusals,
    tokensKnownUntil: knownUntil.tokens,
    application: application && {
      ...applicationSource(application),
      tokensRefusedThisHour: application.refusedThisHour,
    },
    suite: suite && suiteSource(suite),
  })
}

export const auditEventView = (event: AuditEvent) => view(AUDIT_EVENT, event)
