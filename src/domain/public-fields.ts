import { type Application, columnsOf } from './application.ts'
import type { AdminKey, Operator, Session } from './operator.ts'
import { isImported, type Secret } from './secret.ts'
import type { Suite } from './suite.ts'

// The fields that operators may see, by their JSON names, for the views of administration/ and for `before` and `after` of
// audit events. Never a secret or a digest.

export function applicationFields(application: Application) {
  return {
    client_id: application.clientId,
    ...columnsOf(application),
    status: application.status,
    suites: application.suites,
    created_at: timestamp(application.createdAt),
    tokens_valid_from: application.tokensValidFrom === 0 ? null : timestamp(application.tokensValidFrom),
  }
}

export function suiteFields(suite: Suite) {
  return { id: suite.suiteId, name: suite.name, created_at: timestamp(suite.createdAt) }
}

export function secretFields(secret: Secret) {
  return {
    id: secret.id,
    origin: isImported(secret) ? 'imported' : 'generated',
    created_at: timestamp(secret.createdAt),
    ends_at: secret.endsAt === null ? null : timestamp(secret.endsAt),
    revoked_at: secret.revokedAt === null ? null : timestamp(secret.revokedAt),
  }
}

export function operatorFields(operator: Operator) {
  return {
    name: operator.name,
    role: operator.role,
    created_at: timestamp(operator.createdAt),
    keys: operator.keys.map(adminKeyFields),
    sessions: operator.sessions.map(sessionFields),
    login_links: operator.loginLinks.map(({ createdAt, endsAt }) => ({
      created_at: timestamp(createdAt),
      ends_at: timestamp(endsAt),
    })),
  }
}

/** Without the time of the last use: a use is not a change. */
export function adminKeyFields(key: AdminKey) {
  return {
    id: key.id,
    created_at: timestamp(key.createdAt),
    ends_at: timestamp(key.endsAt),
    revoked_at: key.revokedAt === null ? null : timestamp(key.revokedAt),
  }
}

/** Without the times that change with each use. */
export function sessionFields(session: Session) {
  return {
    id: session.id,
    created_at: timestamp(session.createdAt),
    remote_address: session.remoteAddress,
    user_agent: session.userAgent,
  }
}

/** Formats milliseconds since the epoch as in RFC 3339. */
export function timestamp(time: number): string {
  return new Date(time).toISOString()
}
