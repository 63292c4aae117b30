import type { Application } from '../domain/application.ts'
import { isImported } from '../domain/secret.ts'
import type { Suite } from '../domain/suite.ts'
import type { ListedApplication, RegisteredApplication, ShownApplication } from './applications.ts'
import type { ListedSecret } from './secrets.ts'
import type { RegisteredSuite } from './suites.ts'

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

/** A time, in milliseconds since the epoch, as RFC 3339 writes it. */
export function timestamp(time: number): string {
  return new Date(time).toISOString()
}
