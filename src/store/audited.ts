import { isDeepStrictEqual } from 'node:util'
import type { Application } from '../domain/application.ts'
import type { AuditEvent, PublicFields, SubjectKind } from '../domain/audit-event.ts'
import type { Event } from '../domain/events.ts'
import type { Operator } from '../domain/operator.ts'
import { applicationFields, operatorFields, secretFields, suiteFields } from '../domain/public-fields.ts'
import type { Newcomers } from '../domain/store.ts'
import type { Suite } from '../domain/suite.ts'

/** What is shown of a subject, of what is stored of it. */
const FIELDS = {
  application: (stored: Application): PublicFields => ({
    ...applicationFields(stored),
    secrets: stored.secrets.map(secretFields),
  }),
  suite: (stored: Suite): PublicFields => ({ ...suiteFields(stored), secrets: stored.secrets.map(secretFields) }),
  operator: (stored: Operator): PublicFields => operatorFields(stored),
}

/** The kinds of subjects that a store can read before and after a change. */
export type StoredKind = keyof typeof FIELDS

type Action = Event['type']

/** What a change may change, and what the change is called then. */
export interface Concerned {
  action: Action
  kind: StoredKind
  id: string
}

/** What it is called where an application gets this status. */
export const ACTIONS = { active: 'application resumed', suspended: 'application suspended' } as const

export function ofApplication(action: Action, id: string): Concerned[] {
  return [{ action, kind: 'application', id }]
}

export function ofSuite(action: Action, id: string): Concerned[] {
  return [{ action, kind: 'suite', id }]
}

export function ofOperator(action: Action, name: string): Concerned[] {
  return [{ action, kind: 'operator', id: name }]
}

/** A change of an application or a suite, whichever has this id. */
export function ofOwner(action: Action, id: string): Concerned[] {
  return [...ofApplication(action, id), ...ofSuite(action, id)]
}

/** Where one id is there several times, the first one is registered. */
export function registering({ suites, applications }: Newcomers): Concerned[] {
  const suiteIds = new Set(suites.map(({ suiteId }) => suiteId))
  const clientIds = new Set(applications.map(({ clientId }) => clientId))
  return [
    ...[...suiteIds].flatMap((id) => ofSuite('suite registered', id)),
    ...[...clientIds].flatMap((id) => ofApplication('application registered', id)),
  ]
}

/** All that is stored of a subject, as JSON: another text where anything is another. Undefined: it is not there. */
export type Snapshot = string | undefined

/** The part of an audit event that says what happened; before and after are JSON. */
export interface Happened {
  action: Action
  subjectKind: SubjectKind
  subject: string
  before: string | null
  after: string | null
}

/** What happened to a subject; undefined: nothing. */
export function whatHappened({ action, kind, id }: Concerned, before: Snapshot, after: Snapshot): Happened | undefined {
  if (before === after) return undefined
  const [fieldsBefore, fieldsAfter] = [fieldsOf(kind, before), fieldsOf(kind, after)]
  return {
    action,
    subjectKind: kind,
    subject: id,
    before: toJson(differing(fieldsBefore, fieldsAfter)),
    after: toJson(differing(fieldsAfter, fieldsBefore)),
  }
}

/** What happened to the database as a whole; `place`: where it is. */
export function databaseEvent(action: Action, place: string, before: PublicFields, after: PublicFields): Happened {
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

/** The fields that are others in one of them; all of them where the other one is null. */
function differing(fields: PublicFields | null, others: PublicFields | null): PublicFields | null {
  if (!fields || !others) return fields
  const names = Object.keys(fields).filter((name) => !isDeepStrictEqual(fields[name], others[name]))
  return Object.fromEntries(names.map((name) => [name, differingEntries(fields[name], others[name])]))
}

/** Of a list, such as secrets or suites, what the other list has not. Anything else as it is. */
function differingEntries(value: unknown, other: unknown): unknown {
  if (!Array.isArray(value) || !Array.isArray(other)) return value
  const others = new Set(other.map((entry) => JSON.stringify(entry)))
  return value.filter((entry) => !others.has(JSON.stringify(entry)))
}
