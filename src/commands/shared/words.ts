import type { RegisteredApplication } from '../../administration/applications.ts'
import type { RegisteredSuite } from '../../administration/suites.ts'
import type { SecretView } from '../../administration/views.ts'
import { table } from './terminal.ts'

// What several commands say to people.

/** Registered applications with their credentials. */
export function registeredApplicationsText(all: RegisteredApplication[]): string {
  const paragraphs = all.map(({ clientId, clientSecret, name, developerEmail }) =>
    [
      `${name} (${developerEmail})`,
      `  client_id      ${clientId}`,
      `  client_secret  ${clientSecret ?? 'the imported one'}`,
    ].join('\n'),
  )
  const isAnyGenerated = all.some(({ clientSecret }) => clientSecret !== undefined)
  if (isAnyGenerated) paragraphs.push('A generated secret is shown this once and cannot be shown again.')
  return paragraphs.join('\n\n')
}

/** A registered suite with its credentials. */
export function registeredSuiteText({ suiteId, clientSecret, name }: RegisteredSuite): string {
  return [
    `${name} (suite)`,
    `  client_id      ${suiteId}`,
    `  client_secret  ${clientSecret}`,
    'The secret is shown this once and cannot be shown again.',
  ].join('\n')
}

/** Secrets as a table: all but the secrets themselves. */
export function secretsTable(secrets: readonly SecretView[]): string {
  const rows = secrets.map((row) => [
    String(row.id),
    row.origin,
    row.created_at,
    row.last_used_at ?? 'never',
    stateText(row),
  ])
  return table(['secret', 'origin', 'created', 'last used', 'state'], rows)
}

function stateText({ state, ends_at, revoked_at }: SecretView): string {
  if (state === 'revoked') return `revoked at ${revoked_at}`
  if (state === 'expired') return `expired at ${ends_at}`
  return ends_at === null ? 'active' : `ends at ${ends_at}`
}
