import type { RegisteredApplication } from '../../administration/applications.ts'
import type { RegisteredSuite } from '../../administration/suites.ts'
import { type SecretView, timestamp } from '../../administration/views.ts'
import { NOT_SHOWN_YET } from '../../domain/secret.ts'
import { table } from './text.ts'

// What several commands say to people.

export const SHOWN_ONCE = 'A generated secret is shown this once and cannot be shown again.'

/** A registered application with its credentials. */
export function registeredApplicationText(application: RegisteredApplication): string {
  const { clientId, clientSecret, name, developerEmail } = application
  return [
    `${name} (${developerEmail})`,
    `  client_id      ${clientId}`,
    `  client_secret  ${clientSecret ?? 'the imported one'}`,
  ].join('\n')
}

/** A registered suite with its credentials. */
export function registeredSuiteText({ suiteId, clientSecret, name }: RegisteredSuite): string {
  return [`${name} (suite)`, `  client_id      ${suiteId}`, `  client_secret  ${clientSecret}`].join('\n')
}

/** Secrets as a table: all but the secrets themselves. `unused`: what is said of one whose use is not known. */
export function secretsTable(secrets: readonly SecretView[], unused = 'never'): string {
  // Who has another secret gets none from the seed.
  const canSeedAgain = secrets.every(isNotShownYet)
  const rows = secrets.map((row) => [
    String(row.id),
    row.origin,
    row.created_at,
    row.last_used_at ?? unused,
    stateText(row, canSeedAgain),
  ])
  return table(['secret', 'origin', 'created', 'last used', 'state'], rows)
}

function isNotShownYet({ ends_at }: SecretView): boolean {
  return ends_at === timestamp(NOT_SHOWN_YET)
}

function stateText(secret: SecretView, canSeedAgain: boolean): string {
  const { state, ends_at, revoked_at } = secret
  if (state === 'revoked') return `revoked at ${revoked_at}`
  if (isNotShownYet(secret)) return canSeedAgain ? 'not shown yet: run the seed again' : 'never shown'
  if (state === 'expired') return `expired at ${ends_at}`
  return ends_at === null ? 'active' : `ends at ${ends_at}`
}
