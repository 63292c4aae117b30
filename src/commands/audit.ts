import { type Command, Option } from 'commander'
import type { Administration } from '../administration/administration.ts'
import type { AuditVerdict } from '../administration/audit-chain.ts'
import type { AuditQuery } from '../administration/audit-trail.ts'
import { auditEventView, timestamp } from '../administration/views.ts'
import { type Labels, labelTexts } from '../domain/application.ts'
import type { AuditHead } from '../domain/audit-chain.ts'
import type { AuditEvent, PublicFields } from '../domain/audit-event.ts'
import { AUDIT_ACTIONS } from '../domain/events.ts'
import { readableName } from '../domain/operator.ts'
import { OperatorError } from '../domain/operator-error.ts'
import { many } from '../domain/text.ts'
import { administer, readCommandConfig } from './shared/administer.ts'
import { addCommand, type JsonOption, readInput, show, type Terminal } from './shared/terminal.ts'
import { labelled, moment, number, table } from './shared/text.ts'

/** How many changes are listed by default. */
const SHOWN = 100

export function addAudit(program: Command, terminal: Terminal): void {
  const audit = program.command('audit').description('see who changed what')
  const description =
    'list the changes by operators, newest first: who, what, to whom, from where, and the values before'
  const since = 'only changes since then: 2026-11-22, 2026-11-22T06:30Z, or how long ago: 24h, 7d'
  const action = new Option('--action <action>', 'only this action, such as "secret rotated"').choices(AUDIT_ACTIONS)

  addCommand(audit, 'list', description)
    .option('--since <when>', since, (text) => moment(text))
    .option('--until <when>', 'only changes before then', (text) => moment(text))
    .addOption(action)
    .option('--actor <name>', 'only changes by this operator: the name or the email address')
    .option('--subject <id>', 'only changes to this client id, suite or operator')
    .option('--search <text>', 'only changes to what has this text in its id or name')
    .option('--request-id <id>', 'only changes by the request with this id')
    .option('--limit <count>', 'at most this many', limit, SHOWN)
    .action(async (options: JsonOption & AuditQuery) => {
      const { events, rows } = await administer(terminal, async ({ searchAuditEvents }) => {
        const { events } = await searchAuditEvents({ ...options, grouped: !options.json }, Infinity)
        return { events, rows: await Promise.all(events.map((event) => rowOf(event, searchAuditEvents))) }
      })
      const words = table(['at', 'actor', 'origin', 'action', 'subject', 'what'], rows)
      await show(terminal, options, events.map(auditEventView), words)
    })

  addCommand(audit, 'head', 'print the hash of the newest change: keep it elsewhere, for audit verify').action(
    async (options: JsonOption) => {
      const { readAuditKey, signHead } = await import('../administration/audit-chain.ts')
      const key = await readAuditKey(readCommandConfig(terminal).AUDIT_KEY_FILE)
      const found = await administer(terminal, (actions) => actions.findAuditHead())
      if (!found) throw new OperatorError('There are no audit events.')
      const head = signHead(found, Date.now(), key)
      const { signature = 'none, because AUDIT_KEY_FILE is none' } = head
      await show(terminal, options, head, labelled({ ...head, id: String(head.id), signature }))
    },
  )

  addCommand(audit, 'verify', 'find the first change that was changed, removed or added by hand')
    .option(
      '--head <file>',
      'what audit head --json printed earlier, kept elsewhere: find what was rewritten since, too',
    )
    .option('--public-key <file>', 'the public key (Ed25519, PEM) that the head must be signed for')
    .action(async (options: JsonOption & { head?: string; publicKey?: string }) => {
      const { parseHead, readPublicKey } = await import('../administration/audit-chain.ts')
      const { head, publicKey } = options
      if (publicKey !== undefined && head === undefined) throw new OperatorError('--public-key needs --head.')
      const key = publicKey === undefined ? undefined : await readPublicKey(publicKey)
      const known = head === undefined ? undefined : parseHead(await readInput(terminal, head), key)
      const verdict = await administer(terminal, (actions) => actions.verifyAudit(known))
      await show(terminal, options, verdictView(verdict), verdictText(verdict, known))
      if (verdict.problem) throw new OperatorError('The audit trail was changed by hand, or is not that of the head.')
    })
}

function verdictView({ problem, events, first, last, late, lastLate }: AuditVerdict) {
  const chained_later = { events: late, last: lastLate?.id ?? null }
  return { problem: problem ?? null, events, first: first?.id ?? null, last: last?.id ?? null, chained_later }
}

function verdictText({ problem, events, first, last, late, lastLate }: AuditVerdict, known?: AuditHead): string {
  const found = problem
    ? [problem.text, last ? `The events from ${first?.id} to ${last.id} are as they were written.` : '']
    : [
        last
          ? `All ${many(events, 'event')}, from ${first?.id} to ${last.id}, are as they were written.`
          : 'There are no audit events.',
        known ? `Event ${known.id} is that of the head.` : '',
      ]
  const chained = `${many(late, 'event')}, the last of them ${lastLate?.id}, were chained later than they were written`
  if (lastLate)
    found.push(
      `${chained}: if they were changed before ${timestamp(Number(lastLate.chainedAt))}, this does not show it.`,
    )
  return found.filter(Boolean).join('\n')
}

const limit = number(/^[1-9]\d{0,4}$/, 'It must be a number from 1 to 99999.')

/** How many subjects of a request are named. */
const NAMED = 3

/** A row for one change, or for all that a request has made alike. */
async function rowOf(event: AuditEvent, search: Administration['searchAuditEvents']): Promise<string[]> {
  const { at, actor, actor_email, origin, remote_address, action, subject } = auditEventView(event)
  const { id, count, requestId } = event
  const row = [at, readableName({ name: actor, email: actor_email }), `${origin}, ${remote_address}`, action]
  if (count === 1) return [...row, subject.id, whatChanged(event)]
  const { events } = await search({ requestId, action, before: id + 1, limit: NAMED })
  const named = events.map((one) => one.subject.id).join(', ')
  const others = count > NAMED ? ` and ${count - NAMED} more` : ''
  const each = `each: audit list --request-id ${requestId}${count > SHOWN ? ' --limit 99999' : ''}`
  return [...row, `${many(count, subject.kind)}: ${named}${others}`, `${whatChanged(event)}; ${each}`]
}

/** For example `name: A → B`. In lists, `+` marks an added entry and `-` a removed one; a changed one has no mark. */
function whatChanged({ before, after }: AuditEvent): string {
  if (!before) return summary(after as PublicFields)
  if (!after) return summary(before)
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...names]
    .map((name) => {
      const shown = ({ [name]: value }: PublicFields) => (name === 'labels' ? labelTexts(value as Labels) : value)
      const [old, now] = [shown(before), shown(after)]
      if (Array.isArray(old) && Array.isArray(now)) return `${name}: ${listChanges(old, now)}`
      return `${name}: ${old || 'none'} → ${now || 'none'}`
    })
    .join('; ')
}

/** The name of an added or removed subject; for an operator the role, because the name is in its own column. */
function summary({ name, role }: PublicFields): string {
  return role === undefined ? `name: ${name}` : `role: ${role}`
}

function listChanges(old: readonly unknown[], now: readonly unknown[]): string {
  const [before, after] = [new Set(old.map(nameOf)), new Set(now.map(nameOf))]
  const changed = before.intersection(after)
  const [removed, added] = [before.difference(after), after.difference(before)]
  return [...changed, ...[...removed].map((name) => `-${name}`), ...[...added].map((name) => `+${name}`)].join(', ')
}

/** The name of an entry: the id of a suite; the id of an object, the subject of a federated credential, the end of a login link. */
function nameOf(entry: unknown): unknown {
  if (typeof entry !== 'object') return entry
  const { id, subject, ends_at } = entry as { id?: unknown; subject?: unknown; ends_at?: unknown }
  return id ?? subject ?? ends_at
}
