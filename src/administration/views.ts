import type { Application } from '../domain/application.ts'
import type { RefusalCount } from '../domain/refusal-count.ts'
import { isImported } from '../domain/secret.ts'
import type { Suite } from '../domain/suite.ts'
import type { RegisteredApplication, ShownApplication } from './applications.ts'
import type { ListedApplication } from './search.ts'
import type { ListedSecret } from './secrets.ts'
import type { RegisteredSuite } from './suites.ts'
import type { Explanation } from './why.ts'

// What operators are shown, as JSON: one set of views for the command line and whatever else administers.

/** What is shown of every application. */
function applicationView(application: Application) {
  return {
    client_id: application.clientId,
    name: application.name,
    developer_email: application.developerEmail,
    status: application.status,
    suites: application.suites,
    created_at: timestamp(application.createdAt),
    tokens_valid_from: application.tokensValidFrom === 0 ? null : timestamp(application.tokensValidFrom),
  }
}

/** An application in a list, without its secrets. */
export function listedApplicationView(application: ListedApplication) {
  return {
    ...applicationView(application),
    tokens_this_hour: application.tokensThisHour,
    tokens_last_hour: application.tokensLastHour,
    last_token_at: application.lastTokenAt === undefined ? null : timestamp(application.lastTokenAt),
  }
}

/** An application with its secrets. */
export function shownApplicationView(application: ShownApplication) {
  return {
    ...applicationView(application),
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

/** A suite, without its secrets. */
export function suiteView(suite: Suite) {
  return { id: suite.suiteId, name: suite.name, created_at: timestamp(suite.createdAt) }
}

/** A registered suite with its credentials: the only time that its secret is shown. */
export function registeredSuiteView({ suiteId, clientSecret, name }: RegisteredSuite) {
  return { id: suiteId, client_id: suiteId, client_secret: clientSecret, name }
}

export type SecretView = ReturnType<typeof secretView>

/** A secret: all but the secret itself and its digest. */
export function secretView(secret: ListedSecret) {
  return {
    id: secret.id,
    origin: isImported(secret) ? 'imported' : 'generated',
    state: secret.state,
    created_at: timestamp(secret.createdAt),
    ends_at: secret.endsAt === null ? null : timestamp(secret.endsAt),
    revoked_at: secret.revokedAt === null ? null : timestamp(secret.revokedAt),
    last_used_at: secret.lastUsedAt === undefined ? null : timestamp(secret.lastUsedAt),
  }
}

/** Why a client is refused. One of `application` and `suite` is null, both where the client id is nobody's. */
export function explanationView(explanation: Explanation) {
  const { clientId, diagnosis, application, suite, refusals, similarRefusals, similarApplications, knownUntil } =
    explanation
  return {
    client_id: clientId,
    diagnosis,
    refusals_known_until: timestamp(knownUntil.refusals),
    tokens_known_until: timestamp(knownUntil.tokens),
    application: application
      ? {
          ...shownApplicationView(application),
          tokens_this_hour: application.tokensThisHour,
          tokens_refused_this_hour: application.refusedThisHour,
        }
      : null,
    suite: suite ? { ...suiteView(suite), secrets: suite.secrets.map(secretView) } : null,
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

/** A time, in milliseconds since the epoch, as RFC 3339 writes it. */
export function timestamp(time: number): string {
  return new Date(time).toISOString()
}
