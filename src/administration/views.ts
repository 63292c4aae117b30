import type { AuditEvent } from '../domain/audit-event.ts'
import type { Session } from '../domain/operator.ts'
import {
  adminKeyFields,
  applicationFields,
  secretFields,
  sessionFields,
  suiteFields,
  timestamp,
} from '../domain/public-fields.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import type { RegisteredApplication, ShownApplication } from './applications.ts'
import type { Diagnosis } from './diagnosis.ts'
import type { ListedAdminKey, ListedOperator } from './operators.ts'
import type { ListedApplication } from './search.ts'
import type { ListedSecret } from './secrets.ts'
import type { RegisteredSuite, ShownSuite } from './suites.ts'
import type { Explanation } from './why.ts'

// What operators are shown, as JSON: one set of views for the command line and whatever else administers.

// Applications and suites are shown with the same fields as in audit events; secrets are added where needed.
export { applicationFields as applicationView, suiteFields as suiteView, timestamp }

/** An application in a list, without its secrets. */
export function listedApplicationView(application: ListedApplication) {
  return {
    ...applicationFields(application),
    tokens_this_hour: application.tokensThisHour,
    tokens_last_hour: application.tokensLastHour,
    last_token_at: application.lastTokenAt === undefined ? null : timestamp(application.lastTokenAt),
  }
}

/** An application with its secrets. */
export function shownApplicationView(application: ShownApplication) {
  return {
    ...applicationFields(application),
    last_token_at: application.lastTokenAt === undefined ? null : timestamp(application.lastTokenAt),
    secrets: application.secrets.map(secretView),
  }
}

/** A registered application with its credentials. The secret is there this once, if it was generated. */
export function registeredApplicationView({ clientId, clientSecret, name, developerEmail }: RegisteredApplication) {
  return {
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
    name,
    developer_email: developerEmail,
    status: 'active',
  }
}

/** A suite with its secrets. */
export function shownSuiteView(suite: ShownSuite) {
  return { ...suiteFields(suite), secrets: suite.secrets.map(secretView) }
}

/** A registered suite with its credentials: the only time that its secret is shown. */
export function registeredSuiteView({ suiteId, clientSecret, name }: RegisteredSuite) {
  return { id: suiteId, client_id: suiteId, client_secret: clientSecret, name }
}

export type SecretView = ReturnType<typeof secretView>

/** A secret: all but the secret itself and its digest. */
export function secretView(secret: ListedSecret) {
  const { id, origin, ...times } = secretFields(secret)
  return {
    id,
    origin,
    state: secret.state,
    ...times,
    last_used_at: secret.lastUsedAt === undefined ? null : timestamp(secret.lastUsedAt),
  }
}

export function operatorView(operator: ListedOperator) {
  return {
    name: operator.name,
    role: operator.role,
    created_at: timestamp(operator.createdAt),
    keys: operator.keys.map(adminKeyView),
    sessions: operator.sessions.map(sessionView),
  }
}

/** Never contains the key itself or its digest. */
export function adminKeyView(key: ListedAdminKey) {
  const { id, ...times } = adminKeyFields(key)
  return {
    id,
    state: key.state,
    ...times,
    last_used_at: key.lastUsedAt === null ? null : timestamp(key.lastUsedAt),
  }
}

/** Never contains the session's reference or its digest. */
export function sessionView(session: Session) {
  return {
    ...sessionFields(session),
    last_seen_at: timestamp(session.lastSeenAt),
    ends_at: timestamp(session.endsAt),
  }
}

/** The whole diagnosis as text, one line per cause. */
export function diagnosisText({ lines, elsewhere }: Diagnosis): string {
  return lines.concat(elsewhere ?? []).join('\n')
}

/** Why a client is refused. One of `application` and `suite` is null, both where the client id is nobody's. */
export function explanationView(explanation: Explanation) {
  const { clientId, application, suite, refusals, similarRefusals, similarApplications, knownUntil } = explanation
  return {
    client_id: clientId,
    diagnosis: diagnosisText(explanation),
    refusals_known_until: timestamp(knownUntil.refusals),
    tokens_known_until: timestamp(knownUntil.tokens),
    application: application
      ? {
          ...shownApplicationView(application),
          tokens_this_hour: application.tokensThisHour,
          tokens_refused_this_hour: application.refusedThisHour,
        }
      : null,
    suite: suite ? shownSuiteView(suite) : null,
    refusals: refusals.map(refusalView),
    similar_refusals: similarRefusals.map(refusalView),
    similar_applications: similarApplications.map(({ clientId, name }) => ({ client_id: clientId, name })),
  }
}

/** Refusals of one kind: how often, and the last one. */
function refusalView(refusal: RefusalCount) {
  return {
    client_id: refusal.clientId,
    reason: refusal.reason,
    endpoint: refusal.endpoint,
    suite: refusal.suite ?? null,
    remote_address: refusal.remoteAddress,
    count: refusal.count,
    first_at: timestamp(refusal.firstAt),
    last_at: timestamp(refusal.lastAt),
    request_id: refusal.requestId ?? null,
    trace_id: refusal.traceId ?? null,
  }
}

export function auditEventView({ at, remoteAddress, requestId, ...event }: AuditEvent) {
  return {
    id: event.id,
    at: timestamp(at),
    actor: event.actor,
    origin: event.origin,
    remote_address: remoteAddress,
    request_id: requestId ?? null,
    action: event.action,
    subject: event.subject,
    before: event.before,
    after: event.after,
  }
}
