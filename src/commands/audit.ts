import { Command } from 'commander'
import { auditEventView } from '../administration/views.ts'
import type { AuditEvent, PublicFields } from '../domain/audit-event.ts'
import { administer } from './shared/administer.ts'
import { type JsonOption, show, type Terminal, withJson } from './shared/terminal.ts'
import { moment, number, table } from './shared/text.ts'

interface ListOptions extends JsonOption {
  since?: number
  actor?: string
  subject?: string
  limit: number
}

/** `audit …`: shows the audit trail. */
export function auditCommand(terminal: Terminal): Command {
  const audit = new Command('audit').description('see who changed what')

  withJson(audit.command('list'))
    .description(
      'list the changes of operators, newest first: who, what, to whom, from where, and what was there before',
    )
    .option(
      '--since <when>',
      'only those since then: 2026-11-22, 2026-11-22T06:30Z, or how long ago: 24h, 7d',
      (text) => moment(text),
    )
    .option('--actor <name>', 'only those of this operator')
    .option('--subject <id>', 'only those of this client id, suite or operator')
    .option('--limit <count>', 'at most this many', limit, 100)
    .action(async (options: ListOptions) => {
      const events = await administer(terminal, ({ listAuditEvents }) => listAuditEvents(options))
      const words = table(['at', 'actor', 'origin', 'action', 'subject', 'what'], events.map(toRow))
      await show(terminal, options, events.map(auditEventView), words)
    })

  return audit
}

const limit = number(/^[1-9]\d{0,4}$/, 'It must be a number from 1 to 99999.')

function toRow(event: AuditEvent): string[] {
  const { at, actor, origin, remote_address, action, subject } = auditEventView(event)
  return [at, actor, `${origin}, ${remote_address}`, action, subject.id, whatChanged(event)]
}

/** `name: A → B`. In lists, `+` marks added entries, `-` removed ones, and changed ones have no mark. */
function whatChanged({ before, after }: AuditEvent): string {
  if (!before) return summary(after as PublicFields)
  if (!after) return summary(before)
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names]
    .map((name) => {
      const [old, now] = [before[name], after[name]]
      if (Array.isArray(old) && Array.isArray(now)) return `${name}: ${listChanges(old, now)}`
      return `${name}: ${old ?? 'none'} → ${now ?? 'none'}`
    })
    .join('; ')
}

/** For a subject that was added or removed: its name, or the role of an operator, whose name is the subject already. */
function summary({ name, role }: PublicFields): string {
  return role === undefined ? `name: ${name}` : `role: ${role}`
}

function listChanges(old: readonly unknown[], now: readonly unknown[]): string {
  const [before, after] = [new Set(old.map(nameOf)), new Set(now.map(nameOf))]
  const changed = before.intersection(after)
  const [removed, added] = [before.difference(after), after.difference(before)]
  return [...changed, ...[...removed].map((name) => `-${name}`), ...[...added].map((name) => `+${name}`)].join(', ')
}

/** An entry is the id of a suite, an object with an id (secret, key, session), or a login link, which has only its expiry. */
function nameOf(entry: unknown): unknown {
  if (typeof entry !== 'object') return entry
  const { id, ends_at } = entry as { id?: unknown; ends_at?: unknown }
  return id ?? ends_at
}
