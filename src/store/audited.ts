import { isDeepStrictEqual } from 'node:util'
import { type Application, applicationFields } from '../domain/application.ts'
import type { AuditEvent, PublicFields, SubjectKind } from '../domain/audit-event.ts'
import type { Event } from '../domain/events.ts'
import { type Operator, operatorFields } from '../domain/operator.ts'
import { secretFields } from '../domain/secret.ts'
import type { Newcomers } from '../domain/store.ts'
import { type Suite, suiteFields } from '../domain/suite.ts'

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
export type StoredKind = keyof typeof FIELDS

type Action = Event['type']

/** A subject that a change may affect, and the name of the audit event if it does. */
export interface AuditSubject {
  action: Action
  kind: StoredKind
  id: string
}

/** The action that gives an application this status. */
export const ACTIONS = { active: 'application resumed', suspended: 'application suspended' } as const

export function ofApplication(action: Action, id: string): AuditSubject[] {
  return [{ action, kind: 'application', id }]
}

export function ofSuite(action: Action, id: string): AuditSubject[] {
  return [{ action, kind: 'suite', id }]
}

export function ofOperator(action: Action, name: string): AuditSubject[] {
  return [{ action, kind: 'operator', id: name }]
}

/** Whichever of the two has this id: it is either an application or a suite. */
export function ofOwner(action: Action, id: string): AuditSubject[] {
  return [...ofApplication(action, id), ...ofSuite(action, id)]
}

/** Each id once: of duplicates only the first is registered. */
export function ofRegistration({ suites, applications }: Newcomers): AuditSubject[] {
  const suiteIds = new Set(suites.map(({ suiteId }) => suiteId))
  const clientIds = new Set(applications.map(({ clientId }) => clientId))
  return [
    ...[...suiteIds].flatMap((id) => ofSuite('suite registered', id)),
    ...[...clientIds].flatMap((id) => ofApplication('application registered', id)),
  ]
}

/** A stored subject as JSON, equal if and only if nothing changed. Undefined: it does not exist. */
export type Snapshot = string | undefined

/** The part of an audit event that does not depend on the author. `before` and `after` are JSON. */
export interface AuditEntry {
  action: Action
  subjectKind: SubjectKind
  subject: string
  before: string | null
  after: string | null
}

/** Undefined if the subject did not change. */
export function auditEntryOf(
  { action, kind, id }: AuditSubject,
  before: Snapshot,
  after: Snapshot,
): AuditEntry | undefined {
  if (before === after) return undefined
  const [fieldsBefore, fieldsAfter] = [fieldsOf(kind, before), fieldsOf(kind, after)]
  return {
    action,
    subjectKind: kind,
    subject: id,
    before: toJson(changedFields(fieldsBefore, fieldsAfter)),
    after: toJson(changedFields(fieldsAfter, fieldsBefore)),
  }
}

/** An entry for the database as a whole. `place`: its location. */
export function databaseEntry(action: Action, place: string, before: PublicFields, after: PublicFields): AuditEntry {
  return {
    action,
    subjectKind: 'database',
    subject: place,
    before: JSON.stringify(before),
    after: JSON.stringify(after),
  }
}

/** An audit event as it is stored. */
export interface AuditRow extends Omit<AuditEvent, 'requestId' | 'subject' | 'before' | 'after'> {
  requestId: string | null
  subjectKind: SubjectKind
  subject: string
  before: string | null
  after: string | null
}

export function toAuditEvent({ subjectKind, subject, requestId, before, after, ...rest }: AuditRow): AuditEvent {
  return {
    ...rest,
    requestId: requestId ?? undefined,
    subject: { kind: subjectKind, id: subject },
    before: before === null ? null : JSON.parse(before),
    after: after === null ? null : JSON.parse(after),
  }
}

function toJson(fields: PublicFields | null): string | null {
  return fields && JSON.stringify(fields)
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
