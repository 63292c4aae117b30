import { abbreviated } from '../domain/application.ts'
import type { AuditEvent, AuditFilter } from '../domain/audit-event.ts'
import { isFromProvider, readableName } from '../domain/operator.ts'
import type { RefusalCount } from '../domain/refusal.ts'
import type { Secret } from '../domain/secret.ts'
import type { Store } from '../domain/store.ts'
import { ROWS_PER_STEP, stepsOf } from './pages.ts'
import { finderOf } from './search.ts'

/** An omitted field matches every event. Parts match regardless of case. */
export interface AuditQuery extends AuditFilter {
  /** As in the log: `secret rotated`. */
  action?: string | undefined
  /** A part of the operator's name or email address. */
  actorPart?: string | undefined
  requestIdPart?: string | undefined
  /** A part of the id or the name of what was changed. */
  search?: string | undefined
}

/** How many steps of events are compared for a page, for which other operators wait, and for a page of an export. */
const MAX_STEPS = 50
export const EXPORT_STEPS = 5

type Trail = Pick<Store, 'listAuditEvents' | 'findApplication' | 'findSuite' | 'findOperator'>

/**
 * One page of the matching events, newest first. `next`: the id before which the next page begins; undefined on the last one.
 * A page may be short or empty although there is a next one: `maxSteps` limits how many events are compared.
 */
export async function searchAuditEvents(
  store: Trail,
  { action, actorPart = '', requestIdPart = '', search = '', limit, ...filter }: AuditQuery,
  maxSteps = MAX_STEPS,
): Promise<{ events: AuditEvent[]; next?: number | undefined }> {
  const isPlain = action === undefined && `${actorPart}${requestIdPart}${search}` === ''
  const size = isPlain ? limit + 1 : ROWS_PER_STEP
  // A search finds each subject of a change.
  const grouped = filter.grouped && search === ''
  const list = (last?: AuditEvent) =>
    store.listAuditEvents({ ...filter, grouped, before: last?.id ?? filter.before, limit: size })
  const [isActor, isRequest, isSubject] = [finderOf(actorPart), finderOf(requestIdPart), finderOf(search)]
  const found: AuditEvent[] = []
  let steps = 0
  for await (const events of stepsOf(list, size)) {
    const names = search === '' ? new Map() : await namesOfSubjects(store, events)
    const isWanted = ({ action: made, actor, actorEmail, requestId, subject }: AuditEvent) =>
      (action === undefined || made === action) &&
      isActor(actor, actorEmail ?? '') &&
      isRequest(requestId ?? '') &&
      isSubject(subject.id, names.get(keyOfSubject(subject)) ?? '')
    found.push(...events.filter(isWanted))
    if (found.length > limit) return { events: found.slice(0, limit), next: found[limit - 1]?.id }
    if (++steps === maxSteps && events.length === size) return { events: found, next: events.at(-1)?.id }
  }
  return { events: found }
}

/**
 * The current names of the applications and suites; for removed ones, the names at the time of the change. Those of operators
 * from the identity provider are their email addresses.
 */
export async function namesOfSubjects(store: Trail, events: readonly AuditEvent[]) {
  const named = Map.groupBy(events, ({ subject }) => keyOfSubject(subject))
    .entries()
    .map(async ([key, changes]) => {
      const known = await findSubject(store, (changes[0] as AuditEvent).subject)
      const names = [known?.name, ...changes.flatMap(({ before, after }) => [after?.name, before?.name])]
      return [key, names.find((name) => typeof name === 'string')] as const
    })
  return new Map((await Promise.all(named)).filter((entry): entry is [string, string] => entry[1] !== undefined))
}

async function findSubject(store: Trail, { kind, id }: AuditEvent['subject']) {
  if (kind === 'application') return await store.findApplication(id)
  if (kind === 'suite') return await store.findSuite(id)
  if (!isFromProvider({ name: id })) return undefined
  const operator = await store.findOperator(id)
  if (operator) return { name: operator.email }
  const [removal] = await store.listAuditEvents({ subject: id, kind, limit: 1 })
  return { name: removal?.before?.email }
}

/** The key of a subject. Includes the kind, because the name of an operator may equal a client id. */
export function keyOfSubject({ kind, id }: AuditEvent['subject']): string {
  return `${kind} ${id}`
}

/** A change of an application or a suite, by its audit event. */
export interface Made {
  id: AuditEvent['id']
  /** The client id, or the id of the suite. */
  clientId: string
  by: string
  at: number
}

/** The last change of the status, and of each secret by its id. */
export type Authors = ReadonlyMap<Secret['id'] | 'status', Made>

/** How many changes are looked at. */
const MAX_CHANGES = 100

/** Who last changed the status and the secrets of an application or a suite, as far as its last changes tell. */
export async function findAuthors(
  { listAuditEvents }: Pick<Store, 'listAuditEvents'>,
  { kind, id: subject }: AuditEvent['subject'],
): Promise<Authors> {
  const authors = new Map<Secret['id'] | 'status', Made>()
  for (const event of (await listAuditEvents({ subject, kind, limit: MAX_CHANGES })).toReversed()) {
    const { status, secrets = [] } = (event.after ?? {}) as { status?: string; secrets?: Secret[] }
    if (status) authors.set('status', madeOf(event))
    for (const { id } of secrets) authors.set(id, madeOf(event))
  }
  return authors
}

export interface Removal extends Made {
  name: string
}

/** Undefined if no such application was removed. */
export async function findRemoval(store: Trail, clientId: string): Promise<Removal | undefined> {
  const [last] = await store.listAuditEvents({ subject: clientId, kind: 'application', limit: 1 })
  return last?.action === 'application removed' ? removalOf(last) : undefined
}

const MAX_REMOVALS = 1000

/** The removed applications that have not been registered again, the last one first. */
export async function listRemovals(store: Pick<Store, 'listRemovals'>): Promise<Removal[]> {
  const events = Map.groupBy(await store.listRemovals(MAX_REMOVALS), ({ subject }) => subject.id)
  return [...events.values()].map(([last]) => removalOf(last as AuditEvent))
}

/** Whether these refusals of an unregistered client id are those of an application that was removed. */
export function isOfRemoved(
  { clientId, lastAt }: Pick<RefusalCount, 'clientId' | 'lastAt'>,
  removal: Removal,
): boolean {
  return clientId === abbreviated(removal.clientId) && lastAt > removal.at
}

function removalOf(event: AuditEvent): Removal {
  return { ...madeOf(event), name: String(event.before?.name) }
}

function madeOf({ id, subject, actor, actorEmail, at }: AuditEvent): Made {
  return { id, clientId: subject.id, by: readableName({ name: actor, email: actorEmail }), at }
}
