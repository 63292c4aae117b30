import type { RegisteredApplication } from '../../administration/applications.ts'
import type { RegisteredSuite } from '../../administration/suites.ts'
import { secretView } from '../../administration/views.ts'
import type { Secret } from '../../domain/secret.ts'
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
export function secretsTable(secrets: readonly Secret[]): string {
  const rows = secrets
    .map(secretView)
    .map((row) => [String(row.id), row.origin, row.created_at, row.ends_at ?? 'never'])
  return table(['secret', 'origin', 'created', 'ends'], rows)
}
