import { isDeepStrictEqual } from 'node:util'
import { type Application, applicationFields } from '../../domain/application.ts'
import type { Audit, AuditEvent, PublicFields, SubjectKind } from '../../domain/audit-event.ts'
import type { Event } from '../../domain/events.ts'
import type { HandOverLink } from '../../domain/hand-over.ts'
import { IDEMPOTENCY_LIFETIME, IdempotencyKeyTaken } from '../../domain/idempotency.ts'
import { type Operator, operatorFields } from '../../domain/operator.ts'
import { secretFields } from '../../domain/secret.ts'
import type { AuditTrail } from '../../domain/store.ts'
import { type Suite, suiteFields } from '../../domain/suite.ts'
import { timestamp } from '../../domain/time.ts'
import * as sql from './statements/audit.ts'
import { readHandOverLinks } from './statements/hand-overs.ts'
import { readOperators } from './statements/operators.ts'
import { readApplications, readSuites } from './statements/registry.ts'
import { ask, type Database, namesJson, rowsJson, singleValue, toObjects, type Work } from './work.ts'

/** The statements that find subjects of each kind by their ids, as JSON. The database itself is a subject without a row. */
const READ = {
  application: readApplications,
  suite: readSuites,
  operator: readOperators,
  'hand-over links': readHandOverLinks,
}

type StoredKind = keyof typeof READ

/** How each kind of stored subject becomes its public fields. */
const PUBLIC_FIELDS = {
  application: (stored: Application) => ({ ...applicationFields(stored), secrets: stored.secrets.map(secretFields) }),
  suite: (stored: Suite) => ({ ...suiteFields(stored), secrets: stored.secrets.map(secretFields) }),
  operator: (stored: Operator) => operatorFields(stored),
  'hand-over links': (stored: HandOverLink[]) => ({ hand_over_links: stored.map(linkFields) }),
} satisfies Record<StoredKind, (stored: never) => PublicFields>

const linkFields = ({ id, endsAt }: HandOverLink) => ({ id, ends_at: timestamp(endsAt) })

/** A subject that a change may affect, of an application perhaps only the hand-over links, and the name of the audit event if it does. */
export interface AuditSubject {
  action: Event['type']
  kind: StoredKind
  id: string
}

/** The part of an audit event that does not depend on the author. */
export interface AuditEntry {
  action: Event['type']
  subjectKind: SubjectKind
  subject: string
  before: PublicFields | null
  after: PublicFields | null
}

/**
 * Makes a change in a transaction, and stores one audit event for each of these subjects that it changed, and the idempotency
 * record if there is one. Throws IdempotencyKeyTaken if the change was already made.
 */
export function* audited<Result>(
  audit: Audit,
  subjects: readonly AuditSubject[],
  change: Work<Result>,
): Work<{ result: Result; entries: AuditEntry[] }> {
  const { idempotency, at } = audit
  if (idempotency) {
    const made = yield* ask(sql.findSealedAnswer, [idempotency.digest, at - IDEMPOTENCY_LIFETIME])
    if (made.length > 0) throw new IdempotencyKeyTaken()
  }
  const before = yield* snapshots(subjects)
  const result = yield* change
  const after = yield* snapshots(subjects)
  const entries = subjects.flatMap((subject, index) => entryOf(subject, before[index], after[index]) ?? [])
  if (entries.length > 0) yield* record(audit, entries)
  if (idempotency && entries.length > 0) {
    yield* ask(sql.insertIdempotencyRecord, [idempotency.digest, idempotency.sealed, at])
  }
  return { result, entries }
}

/** Adds audit events in the transaction of the change. */
export function* record({ author, at }: Audit, entries: readonly AuditEntry[]): Work<void> {
  const { actor, origin, remoteAddress, requestId } = author
  const rows = entries.map(({ before, after, ...rest }) => ({
    ...rest,
    before: before && JSON.stringify(before),
    after: after && JSON.stringify(after),
  }))
  yield* ask(sql.insertAuditEvents, [rowsJson(rows), at, actor, origin, remoteAddress, requestId])
}

/** An audit entry for the database as a whole, at this location. */
export function databaseEntry(
  action: AuditEntry['action'],
  location: string,
  before: PublicFields,
  after: PublicFields,
): AuditEntry {
  return { action, subjectKind: 'database', subject: location, before, after }
}

/** The subjects as JSON, in order, equal if and only if nothing changed. Undefined: the subject does not exist. */
function* snapshots(subjects: readonly AuditSubject[]): Work<(string | undefined)[]> {
  const found = new Map<string, string>()
  for (const [kind, ofKind] of Map.groupBy(subjects, ({ kind }) => kind)) {
    const rows = yield* ask<[id: string, json: string]>(READ[kind], [namesJson(ofKind.map(({ id }) => id))])
    for (const [id, json] of rows) found.set(`${kind} ${id}`, json)
  }
  return subjects.map(({ kind, id }) => found.get(`${kind} ${id}`))
}

/** The audit entry of a subject; undefined if it did not change. */
function entryOf({ action, kind, id }: AuditSubject, jsonBefore?: string, jsonAfter?: string): AuditEntry | undefined {
  if (jsonBefore === jsonAfter) return undefined
  const [before, after] = [fieldsOf(kind, jsonBefore), fieldsOf(kind, jsonAfter)]
  return {
    action,
    subjectKind: kind === 'hand-over links' ? 'application' : kind,
    subject: id,
    before: changedFields(before, after),
    after: changedFields(after, before),
  }
}

function fieldsOf(kind: StoredKind, json: string | undefined): PublicFields | null {
  return json === undefined ? null : PUBLIC_FIELDS[kind](JSON.parse(json))
}

/** The fields whose values differ from `others`; all fields if `others` is null. */
function changedFields(fields: PublicFields | null, others: PublicFields | null): PublicFields | null {
  if (!fields || !others) return fields
  const names = Object.keys(fields).filter((name) => !isDeepStrictEqual(fields[name], others[name]))
  return Object.fromEntries(names.map((name) => [name, changedEntries(fields[name], others[name])]))
}

/** For lists, such as secrets or suites, only the entries that the other list lacks. */
function changedEntries(value: unknown, other: unknown): unknown {
  if (!Array.isArray(value) || !Array.isArray(other)) return value
  const others = new Set(other.map((entry) => JSON.stringify(entry)))
  return value.filter((entry) => !others.has(JSON.stringify(entry)))
}

/** The columns of an audit event. */
const COLUMNS = [
  ...(['id', 'at', 'actor', 'origin', 'remoteAddress', 'requestId'] as const),
  ...(['action', 'kind', 'subject', 'before', 'after'] as const),
]

interface Row extends Omit<AuditEvent, 'subject' | 'before' | 'after'> {
  kind: SubjectKind
  subject: string
  before: string | null
  after: string | null
}

/** The audit events and the idempotency records that were stored with changes. */
export function createAuditTrail(database: Database): AuditTrail {
  return {
    async listAuditEvents({ since = 0, before = null, actor = null, subject = null, kind = null, limit }) {
      const page = [since, before, limit]
      if (subject !== null) return list(sql.listAuditEventsOfSubject, [...page, subject, actor, kind])
      return actor !== null ? list(sql.listAuditEventsOfActor, [...page, actor]) : list(sql.listAuditEvents, page)
    },
    findSealedAnswer: (digest, madeAfter) => singleValue(database.ask(sql.findSealedAnswer, [digest, madeAfter])),
  }

  async function list(statement: string, values: unknown[]): Promise<AuditEvent[]> {
    const rows = toObjects<Row>(await database.ask(statement, values), ...COLUMNS)
    return rows.map(({ kind, subject, requestId, before, after, ...rest }) => ({
      ...rest,
      // NULL if the change had none.
      requestId: requestId ?? undefined,
      subject: { kind, id: subject },
      before: before && JSON.parse(before),
      after: after && JSON.parse(after),
    }))
  }
}
