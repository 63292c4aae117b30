import { isDeepStrictEqual } from 'node:util'
import { type Application, applicationFields } from '../../domain/application.ts'
import type { Audit, AuditEvent, PublicFields, SubjectKind } from '../../domain/audit-event.ts'
import type { Event } from '../../domain/events.ts'
import { IDEMPOTENCY_LIFETIME, IdempotencyKeyTaken } from '../../domain/idempotency.ts'
import { type Operator, operatorFields } from '../../domain/operator.ts'
import { secretFields } from '../../domain/secret.ts'
import type { AuditTrail } from '../../domain/store.ts'
import { type Suite, suiteFields } from '../../domain/suite.ts'
import * as sql from './statements/audit.ts'
import { readOperators } from './statements/operators.ts'
import { readApplications, readSuites } from './statements/registry.ts'
import { ask, type Database, namesJson, rowsJson, type Work } from './work.ts'

/** Turns a stored subject into its public fields. */
const FIELDS = {
  application: (stored: Application): PublicFields => ({
    ...applicationFields(stored),
    secrets: stored.secrets.map(secretFields),
  }),
  suite: (stored: Suite): PublicFields => ({ ...suiteFields(stored), secrets: stored.secrets.map(secretFields) }),
  operator: (stored: Operator): PublicFields => operatorFields(stored),
}

/** The kinds of subjects that are stored as rows, unlike the database itself. */
type StoredKind = keyof typeof FIELDS

/** The statements that find subjects of each kind by their ids, as JSON. */
const READ: Record<StoredKind, string> = { application: readApplications, suite: readSuites, operator: readOperators }

type Action = Event['type']

/** A subject that a change may affect, and the name of the audit event if it does. */
export interface AuditSubject {
  action: Action
  kind: StoredKind
  id: string
}

/** The part of an audit event that does not depend on the author. */
export interface AuditEntry {
  action: Action
  subjectKind: SubjectKind
  subject: string
  before: PublicFields | null
  after: PublicFields | null
}

/**
 * Makes a change in a transaction, with one audit event for each of these subjects that it changed, and the idempotency record
 * if there is one. Throws IdempotencyKeyTaken if the change was already made.
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
  const entries = subjects.flatMap((one, nth) => entryOf(one, before[nth], after[nth]) ?? [])
  if (entries.length > 0) yield* record(audit, entries)
  if (idempotency && entries.length > 0) {
    yield* ask(sql.insertIdempotencyRecord, [idempotency.digest, idempotency.sealed, at])
  }
  return { result, entries }
}

/** Adds audit events in the transaction of the change. */
export function* record({ author, at }: Audit, entries: readonly AuditEntry[]): Work<void> {
  const { actor, origin, remoteAddress, requestId } = author
  const rows = entries.map(({ before, after, ...rest }) => ({ ...rest, before: toJson(before), after: toJson(after) }))
  yield* ask(sql.insertAuditEvents, [rowsJson(rows), at, actor, origin, remoteAddress, requestId])
}

/** An entry for the database as a whole. `place`: its location. */
export function databaseEntry(action: Action, place: string, before: PublicFields, after: PublicFields): AuditEntry {
  return { action, subjectKind: 'database', subject: place, before, after }
}

/** A stored subject as JSON, equal if and only if nothing changed. Undefined: it does not exist. */
type Snapshot = string | undefined

/** The snapshots of these subjects, in their order. */
function* snapshots(subjects: readonly AuditSubject[]): Work<Snapshot[]> {
  const found = new Map<string, string>()
  for (const kind of new Set(subjects.map((one) => one.kind))) {
    const ids = subjects.filter((one) => one.kind === kind).map(({ id }) => id)
    const rows = yield* ask<[id: string, json: string]>(READ[kind], [namesJson(ids)])
    for (const [id, json] of rows) found.set(`${kind} ${id}`, json)
  }
  return subjects.map(({ kind, id }) => found.get(`${kind} ${id}`))
}

/** Undefined if the subject did not change. */
function entryOf({ action, kind, id }: AuditSubject, before: Snapshot, after: Snapshot): AuditEntry | undefined {
  if (before === after) return undefined
  const [fieldsBefore, fieldsAfter] = [fieldsOf(kind, before), fieldsOf(kind, after)]
  return {
    action,
    subjectKind: kind,
    subject: id,
    before: changedFields(fieldsBefore, fieldsAfter),
    after: changedFields(fieldsAfter, fieldsBefore),
  }
}

function fieldsOf(kind: StoredKind, snapshot: Snapshot): PublicFields | null {
  return snapshot === undefined ? null : FIELDS[kind](JSON.parse(snapshot))
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

function toJson(fields: PublicFields | null): string | null {
  return fields && JSON.stringify(fields)
}

type Row = [
  id: number,
  at: number,
  actor: string,
  origin: AuditEvent['origin'],
  remoteAddress: string,
  requestId: string | null,
  action: string,
  subjectKind: SubjectKind,
  subject: string,
  before: string | null,
  after: string | null,
]

/** The audit events and the idempotency records that were stored with changes. */
export function createAuditTrail(database: Database): AuditTrail {
  return {
    async listAuditEvents({ since = 0, before = null, actor = null, subject = null, kind = null, limit }) {
      const page = [since, before, limit]
      if (subject !== null) return list(sql.listAuditEventsOfSubject, [...page, subject, actor, kind])
      return actor !== null ? list(sql.listAuditEventsOfActor, [...page, actor]) : list(sql.listAuditEvents, page)
    },

    async findSealedAnswer(digest, madeAfter) {
      const [row] = await database.ask<[sealed: string]>(sql.findSealedAnswer, [digest, madeAfter])
      return row?.[0]
    },
  }

  async function list(statement: string, values: unknown[]): Promise<AuditEvent[]> {
    return (await database.ask<Row>(statement, values)).map(toEvent)
  }
}

function toEvent(row: Row): AuditEvent {
  const [id, at, actor, origin, remoteAddress, requestId, action, kind, subject, before, after] = row
  return {
    ...{ id, at, actor, origin, remoteAddress, action },
    requestId: requestId ?? undefined,
    subject: { kind, id: subject },
    before: before === null ? null : JSON.parse(before),
    after: after === null ? null : JSON.parse(after),
  }
}
