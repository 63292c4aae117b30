import { Command } from 'commander'
import { ago } from '../administration/age.ts'
import type { ApplicationInTrouble } from '../administration/remedies.ts'
import { diagnosisText, explanationView, secretView, timestamp } from '../administration/views.ts'
import type { Explanation } from '../administration/why.ts'
import type { Finding } from '../doctor/finding.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import { administer, readCommandConfig } from './shared/administer.ts'
import { show, type Terminal, withJson } from './shared/terminal.ts'
import { secretsTable, table } from './shared/text.ts'

/** `why`: what is wrong with a client, for whoever has its developer on the phone. */
export function whyCommand(terminal: Terminal): Command {
  return withJson(new Command('why'))
    .description('say why a client is refused, and what to do')
    .argument('<client-id>', 'as the partner tells it')
    .action(async (clientId: string, options) => {
      const { checkServer } = await import('../doctor/listeners.ts')
      const config = readCommandConfig(terminal)
      const [explanation, [server]] = await Promise.all([
        administer(terminal, ({ why }) => why(clientId)),
        checkServer(config) as Promise<[Finding]>,
      ])
      const result = { ...explanationView(explanation), server: serverView(server) }
      const text = explanationText(explanation, Date.now())
      await show(terminal, options, result, [...serverText(server), text].join('\n\n'))
    })
}

/** Whether the server of these settings is ready; null: its address is not known. */
function serverView({ level, text }: Finding) {
  return { is_ready: level === 'note' ? null : level === 'ok', text }
}

/** What is wrong with the server, which no refusal tells. */
function serverText({ level, text }: Finding): string[] {
  if (level !== 'error') return []
  return [`${text} If partners are to be served there, that is why they are not: run "token-server doctor".`]
}

function explanationText(explanation: Explanation, now: number): string {
  const { application, suite, refusals, similarRefusals, similarApplications } = explanation
  const parts = [diagnosisText(explanation)]
  const client = application ?? suite
  if (client) {
    if (application) parts.push(applicationText(application, now))
    parts.push(secretsTable(client.secrets.map(secretView), 'not yet'))
    parts.push(refusals.length > 0 ? refusalsTable(refusals, now) : 'No refusal of it is known.')
    parts.push('Refusals show up after 5 seconds, tokens and uses of secrets after a minute.')
  }
  if (similarRefusals.length > 0) {
    parts.push(`Refused client ids that look like it:\n${refusalsTable(similarRefusals, now, { withClient: true })}`)
  }
  if (similarApplications.length > 0) {
    const rows = similarApplications.map(({ clientId, name }) => [clientId, name])
    parts.push(`Applications with nearly the same client id:\n${table(['client id', 'name'], rows)}`)
  }
  return parts.join('\n\n')
}

function applicationText(application: ApplicationInTrouble, now: number): string {
  const { clientId, name, developerEmail, status, suites, lastTokenAt, tokensThisHour, refusedThisHour } = application
  const lines = {
    'client id': clientId,
    name: `${name} (${developerEmail})`,
    status,
    suites: suites.join(', ') || 'none',
    'last token': lastTokenAt === undefined ? 'none yet' : `${ago(lastTokenAt, now)}, at ${timestamp(lastTokenAt)}`,
    'tokens this hour': `${tokensThisHour}${refusedThisHour > 0 ? `, and ${refusedThisHour} refused by the quota` : ''}`,
  }
  return Object.entries(lines)
    .map(([label, value]) => `${label.padEnd(18)} ${value}`)
    .join('\n')
}

function refusalsTable(refusals: readonly RefusalCount[], now: number, { withClient = false } = {}): string {
  const heading = ['last refused', 'times', 'reason', 'endpoint', 'suite', 'address', 'request id']
  const rows = refusals.map((refusal) => [
    ago(refusal.lastAt, now),
    String(refusal.count),
    refusal.reason,
    refusal.endpoint,
    refusal.suite ?? '-',
    refusal.remoteAddress,
    refusal.requestId ?? '-',
  ])
  if (!withClient) return table(heading, rows)
  return table(
    ['client id', ...heading],
    rows.map((row, at) => [(refusals[at] as RefusalCount).clientId, ...row]),
  )
}
