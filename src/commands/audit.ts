import { Command, InvalidArgumentError } from 'commander'
import { auditEventView } from '../administration/views.ts'
import type { AuditEvent } from '../domain/audit-event.ts'
import { administer } from './shared/administer.ts'
import { type JsonOption, show, type Terminal, withJson } from './shared/terminal.ts'
import { table } from './shared/text.ts'
import { moment } from './shared/times.ts'

interface ListOptions extends JsonOption {
  since?: number
  actor?: string
  subject?: string
  limit: number
}

/** `audit …`: who changed what. */
export function auditCommand(terminal: Terminal): Command {
  const audit = new Command('audit').description('see who changed what')

  withJson(audit.command('list'))
    .description(
      'list the changes of operators, newest first: who, what, to whom, from where, and what was there before',
    )
    .option('--since <when>', 'not those of before: 2026-11-22, 2026-11-22T06:30Z, or how long ago: 24h, 7d', (text) =>
      moment(text),
    )
    .option('--actor <name>', 'only those of this operator')
    .option('--subject <id>', 'only those of this client id, suite or operator')
    .option('--limit <count>', 'how many at most', limit, 100)
    .action(async (options: ListOptions) => {
      const events = await administer(terminal, ({ listAuditEvents }) => listAuditEvents(options))
      const words = table(['at', 'actor', 'origin', 'action', 'subject', 'what'], events.map(toRow))
      await show(terminal, options, events.map(auditEventView), words)
    })

  return audit
}

function limit(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 99999.')
  return Number(text)
}

function toRow(event: AuditEvent): string[] {
  const { at, actor, origin, remote_address, action, subject } = auditEventView(event)
  return [at, actor, `${origin}, ${remote_address}`, action, subject.id, whatChanged(event)]
}

/** `name: A → B`; of suites `+` and `-`, of secrets, keys and sessions their ids, of login links, which have none, when they end. Empty where the subject was not there before, or is not any more. */
function whatChanged({ before, after }: AuditEvent): string {
  if (!before || !after) return ''
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names]
    .map((name) => {
      const [old, now] = [before[name], after[name]]
      if (isListOfObjects(old) && isListOfObjects(now)) return `${name}: ${namesOf([...old, ...now])}`
      if (Array.isArray(old) && Array.isArray(now)) {
        return `${name}: ${[...old.map((gone) => `-${gone}`), ...now.map((come) => `+${come}`)].join(', ')}`
      }
      return `${name}: ${old ?? 'none'} → ${now ?? 'none'}`
    })
    .join('; ')
}

interface Entry {
  id?: unknown
  ends_at?: unknown
}

function isListOfObjects(value: unknown): value is Entry[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === 'object')
}

function namesOf(entries: Entry[]): string {
  return [...new Set(entries.map(({ id, ends_at }) => id ?? ends_at))].join(', ')
}
