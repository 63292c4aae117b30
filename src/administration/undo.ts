import type { Application } from '../domain/application.ts'
import { type AuditEvent, type PublicFields, versionOf } from '../domain/audit-event.ts'
import { OperatorError } from '../domain/operator-error.ts'
import type { Suite } from '../domain/suite.ts'
import { camelCased } from '../domain/text.ts'
import { PUBLIC_FIELDS } from '../views/registry.ts'
import type { ApplicationSettings } from './applications.ts'
import { searchAuditEvents } from './audit-trail.ts'
import type { Context } from './context.ts'
import { stepsOf } from './pages.ts'
import { MAX_APPROVALS, suiteUpdateSchema, updateSchema, valid } from './rules.ts'
import { find } from './suites.ts'

/** The audit events of these have all that is needed to undo them. */
const UNDOABLE: readonly string[] = [
  ...['application updated', 'application suspended', 'application resumed', 'application approved'],
  ...['approval withdrawn', 'suite updated', 'change undone'],
]

const OPPOSITE = {
  'application approved': 'approval withdrawn',
  'approval withdrawn': 'application approved',
} as const

export function createUndo(context: Context) {
  const { store, audit, change } = context

  /** The last change of an application or a suite, if a form of the console made it and it can be undone: all that it changed. */
  async function findLastChange(owner: Application | Suite) {
    const { kind, id: subject } = stateOf(owner)
    const events = await store.listAuditEvents({ kind, subject, limit: MAX_APPROVALS })
    const [last] = events
    if (last?.origin !== 'console' || !UNDOABLE.includes(last.action)) return
    const { id, actor } = last
    const made = events.filter(madeWith(last))
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
    for (const suite of before.suites) await assertSameSuite(context, suite, eventId)
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

  return { findLastChange, undoLastChange, ...createApprovalsUndo(context) }
}

function createApprovalsUndo(context: Context) {
  const { store, audit, change } = context

  /**
   * Undoes the change of approvals that an audit event belongs to, except for applications that were changed since. Resolves to
   * the suite, the client ids of those that it changed, and of the others. Throws OperatorError if it is a different kind of change.
   */
  async function undoApprovals(eventId: number): Promise<{ suite: string; changed: string[]; left: string[] }> {
    const [made] = Number.isSafeInteger(eventId) ? await store.listAuditEvents({ before: eventId + 1, limit: 1 }) : []
    const type = OPPOSITE[made?.action as keyof typeof OPPOSITE]
    if (made?.id !== eventId || made.requestId === undefined || !type)
      throw new OperatorError('The audit has no such change of approvals.', { kind: 'not found' })
    const { requestId, action } = made
    const [suite] = suitesOf(made) as [string]
    await find(context, suite)
    await assertSameSuite(context, suite, eventId)
    const isMadeWith = madeWith(made)
    const changed: string[] = []
    const left: string[] = []
    const audited = audit()
    const list = (last?: AuditEvent) => store.listAuditEvents({ requestId, before: last?.id, limit: MAX_APPROVALS })
    for await (const step of stepsOf(list, MAX_APPROVALS)) {
      const approvals = step.filter((one) => isMadeWith(one) && one.action === action && suitesOf(one).includes(suite))
      const clientIds = approvals.map(({ subject }) => subject.id)
      const { subjects } = await change({ type, clientIds, suite, undoes: eventId }, audited)
      changed.push(...subjects)
      left.push(...new Set(clientIds).difference(new Set(subjects)))
    }
    return { suite, changed, left }
  }

  return { undoApprovals }
}

/** Throws OperatorError if a suite has been removed and registered again since an audit event. */
async function assertSameSuite({ store }: Context, suite: string, eventId: number): Promise<void> {
  const ofSuite = { action: 'suite registered', subject: suite, kind: 'suite', limit: 1 } as const
  const { events } = await searchAuditEvents(store, ofSuite, Infinity)
  if (events.some(({ id }) => id > eventId))
    throw new OperatorError(`The suite ${suite} has been removed and registered again since.`)
}

/** Whether an event was made together with this one. The request id is the caller's: another change may have the same one. */
function madeWith({ at, requestId, actor }: AuditEvent): (one: AuditEvent) => boolean {
  return (one) => one.at === at && one.requestId === requestId && one.actor === actor
}

/** The suites that a change of approvals names. */
export function suitesOf({ before, after }: AuditEvent): string[] {
  return [before, after].flatMap((fields) => fields?.suites as string[])
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
