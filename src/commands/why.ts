import type { Command } from 'commander'
import type { ShownApplication } from '../administration/applications.ts'
import { wayOfLastToken } from '../administration/secrets.ts'
import { diagnosisText, explanationView, secretView, timestamp } from '../administration/views.ts'
import type { Explanation } from '../administration/why.ts'
import type { Finding } from '../doctor/finding.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import { firstTen } from '../domain/text.ts'
import { ago } from '../domain/time.ts'
import { sinceFullHour } from '../domain/usage.ts'
import { administer, readCommandConfig } from './shared/administer.ts'
import { addCommand, show, type Terminal } from './shared/terminal.ts'
import { labelled, secretsTable, table } from './shared/text.ts'

export function addWhy(program: Command, terminal: Terminal): void {
  addCommand(program, 'why', 'explain why a client is refused, and what to do')
    .argument('<client-id>', 'the client id that the partner gave you')
    .action(async (clientId: string, options) => {
      const { checkServer } = await import('../doctor/listeners.ts')
      const config = readCommandConfig(terminal)
      const [explanation, [server]] = await Promise.all([
        administer(terminal, ({ why }) => why(clientId)),
        checkServer(config) as Promise<[Finding]>,
      ])
      const { level, text } = server
      // The level is a note if the address of the server is not known.
      const is_ready = level === 'note' ? null : level === 'ok'
      const result = { ...explanationView(explanation), server: { is_ready, text } }
      const parts = [explanationText(explanation, Date.now())]
      if (level === 'error') {
        parts.unshift(`${text} If partners should be served there, this is the reason: run "token-server doctor".`)
      }
      await show(terminal, options, result, parts.join('\n\n'))
    })
}

function explanationText(explanation: Explanation, now: number): string {
  const { application, suite, refusals, similarRefusals, similarApplications } = explanation
  const parts = [diagnosisText(explanation)]
  const client = application ?? suite
  if (client) {
    if (application) parts.push(applicationText(application, now))
    parts.push(secretsTable(client.secrets.map(secretView), 'not yet'))
    parts.push(refusals.length > 0 ? refusalsTable(refusals, now) : 'No refusals are known.')
    parts.push('Refusals show up within 5 seconds, tokens and uses of secrets within a minute.')
  }
  if (similarRefusals.length > 0) {
    parts.push(`Refused client ids that look like it:\n${refusalsTable(similarRefusals, now, { withClient: true })}`)
  }
  if (similarApplications.length > 0) {
    const { shown, more } = firstTen(similarApplications)
    const rows = shown.map(({ clientId, name }) => [clientId, name])
    parts.push(`Applications with nearly the same client id:\n${table(['client id', 'name'], rows)}\n${more}`.trim())
  }
  return parts.join('\n\n')
}

function applicationText(application: ShownApplication, now: number): string {
  const { clientId, name, developerEmail, status, suites, lastTokenAt } = application
  const { tokensThisHour, tokensLastHour, refusedThisHour } = application
  const way = wayOfLastToken(application)
  return labelled({
    'client id': clientId,
    name: `${name} (${developerEmail})`,
    status,
    suites: suites.join(', ') || 'none',
    'last token':
      lastTokenAt === undefined
        ? 'none yet'
        : `${ago(lastTokenAt, now)}, at ${timestamp(lastTokenAt)}${way && `, ${way}`}`,
    'tokens in the last hour': `${tokensThisHour}, in the hour before ${tokensLastHour}`,
    ...(refusedThisHour > 0 && { 'refused by the quota': `${refusedThisHour} ${sinceFullHour(now)}` }),
  })
}

function refusalsTable(refusals: readonly RefusalCount[], now: number, { withClient = false } = {}): string {
  const heading = ['last refused', 'times', 'reason', 'endpoint', 'suite', 'address', 'request id']
  const rows = refusals.map((refusal) => [
    ...(withClient ? [refusal.clientId] : []),
    ago(refusal.lastAt, now),
    String(refusal.count),
    refusal.reason,
    refusal.endpoint,
    refusal.suite ?? '-',
    refusal.remoteAddress,
    refusal.requestId ?? '-',
  ])
  return table(withClient ? ['client id', ...heading] : heading, rows)
}
