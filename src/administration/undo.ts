import type { Application } from '../domain/application.ts'
import { type AuditEvent, type PublicFields, versionOf } from '../domain/audit-event.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Suite } from '../domain/suite.ts'
import { camelCased } from '../domain/text.ts'
import { PUBLIC_FIELDS } from '../views/registry.ts'
import type { ApplicationSettings } from './applications.ts'
import type { Context } from './context.ts'
import { MAX_APPROVALS, suiteUpdateSchema, updateSchema, valid } from './rules.ts'
import { assertSameSuite } from './suites.ts'

/** The audit events of these have all that is needed to undo them. */
const UNDOABLE: readonly string[] = [
  ...['application updated', 'application suspended', 'application resumed', 'application approved'],
  ...['approval withdrawn', 'suite updated', 'change undone'],
]

export function createUndo({ store, audit, change }: Context) {
  /** The last change of an application or a suite, if a form of the console made it and it can be undone: all that it changed. */
  async function findLastChange(owner: Application | Suite) {
    const { kind, id: subject } = stateOf(owner)
    const events = await store.listAuditEvents({ kind, subject, limit: MAX_APPROVALS })
    const [last] = events
    if (last?.origin !== 'console' || !UNDOABLE.includes(last.action)) return
    const { id, at, requestId, actor } = last
    const made = events.filter((one) => one.at === at && one.requestId === requestId && one.actor === actor)
    const action = made.length === 1 ? last.action : 'application updated'
    return { id, actor, action, before: merged(made, 'before'), after: merged(made, 'after') }
  }

  /**
   * Undoes the change with this audit event. Resolves to true if anything differed. Throws OperatorError unless it is the last one of the
   * application or suite.
   */
  async function undoLastChange(owner: Application | Suite, eventId: number): Promise<boolean> {
    const { kind, id, fields } = stateOf(owner)
    const last = await findLastChange(owner)
    if (last?.id !== eventId) throw new OperatorError('This cannot be undone any more: something was changed since.')
    const { before, after } = last
    for (const suite of before.suites) await assertSameSuite(store, suite, eventId)
    const restored = Object.entries(before).map(([name, value]) => {
      if (!Array.isArray(value)) return [name, value]
      const [now, added] = [fields[name] ?? [], after[name]] as [unknown[], unknown[]]
      return [name, [...now.filter((item) => !added.includes(item)), ...value]]
    })
    const { status, suites, ...values } = camelCased<Partial<ApplicationSettings>>(Object.fromEntries(restored))
    const audited = { ...audit(), onlyIf: [versionOf(fields)] }
    const type = 'change undone'
    const undone =
      kind === 'suite'
        ? await change({ type, suite: id, values: valid(suiteUpdateSchema, values) }, audited)
        : await change({ type, clientId: id, values: valid(updateSchema, values), status, suites }, audited)
    return undone.changed
  }

  return { findLastChange, undoLastChange }
}

function stateOf(owner: Application | Suite): AuditEvent['subject'] & { fields: PublicFields } {
  if ('clientId' in owner) return { kind: 'application', id: owner.clientId, fields: PUBLIC_FIELDS.application(owner) }
  return { kind: 'suite', id: owner.suiteId, fields: PUBLIC_FIELDS.suite(owner) }
}

/** The values before or after several changes. Each change of an approval names one suite. */
function merged(events: readonly AuditEvent[], side: 'before' | 'after'): PublicFields & { suites: string[] } {
  const all = events.map((event) => event[side])
  return { ...Object.assign({}, ...all), suites: all.flatMap((fields) => (fields?.suites as string[]) ?? []) }
}
