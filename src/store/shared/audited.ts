import { isDeepStrictEqual } from 'node:util'
import {
  type Audit,
  IDEMPOTENCY_LIFETIME,
  IdempotencyKeyTaken,
  type PublicFields,
  type StoredKind,
  versionOf,
} from '../../domain/audit-event.ts'
import type { Event } from '../../domain/events.ts'
import { OperatorError } from '../../domain/operator-error.ts'
import { type AuditEntry, record } from './audit.ts'
import * as sql from './statements/audit.ts'
import { readOperators } from './statements/operators.ts'
import { readApplications, readHandOverLinks, readSuites } from './statements/registry.ts'
import { ask, namesJson, type Work } from './work.ts'

const READ: Record<StoredKind, string> = {
  application: readApplications,
  suite: readSuites,
  operator: readOperators,
  'hand-over links': readHandOverLinks,
}

/** A subject that a change may affect, or the hand-over links of an application, and the name of the audit event if it does. */
export interface AuditSubject {
  action: Event['type']
  kind: StoredKind
  id: string
}

/**
 * Makes a change in a transaction, and stores one audit event for each of these subjects that it changed, and the idempotency
 * record if there is one. Throws IdempotencyKeyTaken if the change was already made, OperatorError if a subject does not have the
 * version that `audit` names, and Trial in a dry run.
 */
export function* audited<Result>(
  audit: Audit,
  subjects: readonly AuditSubject[],
  change: Work<Result>,
): Work<{ result: Result; entries: AuditEntry[] }> {
  const { idempotency, onlyIf, at } = audit
  if (idempotency) {
    const made = yield* ask(sql.findSealedAnswer, [idempotency.digest, at - IDEMPOTENCY_LIFETIME])
    if (made.length > 0) throw new IdempotencyKeyTaken()
  }
  const before = yield* snapshots(subjects)
  if (onlyIf) assertVersion(audit, subjects, before, onlyIf)
  const result = yield* change
  const after = yield* snapshots(subjects)
  const entries = subjects.flatMap((subject, index) => entryOf(audit, subject, before[index], after[index]) ?? [])
  if (entries.length > 0) yield* record(audit, entries)
  if (idempotency && entries.length > 0) {
    yield* ask(sql.insertIdempotencyRecord, [idempotency.digest, idempotency.sealed, at])
  }
  if (audit.isTrial) throw new Trial({ result, entries })
  return { result, entries }
}

/** Rolls back the transaction of a dry run. */
export class Trial extends Error {
  readonly made: { result: unknown; entries: AuditEntry[] }

  constructor(made: Trial['made']) {
    super('This was a dry run.')
    this.made = made
  }
}

/** There must be an application or suite, and each must have one of these versions (RFC 9110 §13.1.1). */
function assertVersion(
  audit: Audit,
  subjects: readonly AuditSubject[],
  snapshots: readonly (string | undefined)[],
  versions: readonly string[],
) {
  const found = subjects.flatMap(({ kind }, at) => {
    const fields = kind === 'application' || kind === 'suite' ? fieldsOf(audit, kind, snapshots[at]) : null
    return fields ? versionOf(fields) : []
  })
  const isExpected = (version: string) => versions.includes('*') || versions.includes(version)
  if (found.length > 0 && found.every(isExpected)) return
  throw new OperatorError('It is not in the state that If-Match names: read it again before you change it.', {
    kind: 'another version',
  })
}

/** The subjects as JSON, in order, equal if and only if nothing changed; undefined for a subject that does not exist. */
function* snapshots(subjects: readonly AuditSubject[]): Work<(string | undefined)[]> {
  const found = new Map<string, string>()
  for (const [kind, ofKind] of Map.groupBy(subjects, ({ kind }) => kind)) {
    const rows = yield* ask<[id: string, json: string]>(READ[kind], [namesJson(ofKind.map(({ id }) => id))])
    for (const [id, json] of rows) found.set(`${kind} ${id}`, json)
  }
  return subjects.map(({ kind, id }) => found.get(`${kind} ${id}`))
}

function entryOf(
  audit: Audit,
  { action, kind, id }: AuditSubject,
  jsonBefore: string | undefined,
  jsonAfter: string | undefined,
): AuditEntry | undefined {
  if (jsonBefore === jsonAfter) return undefined
  const [before, after] = [fieldsOf(audit, kind, jsonBefore), fieldsOf(audit, kind, jsonAfter)]
  return {
    action,
    subjectKind: kind === 'hand-over links' ? 'application' : kind,
    subject: id,
    before: changedFields(before, after),
    after: changedFields(after, before),
  }
}

function fieldsOf({ publicFields }: Audit, kind: StoredKind, json: string | undefined): PublicFields | null {
  return json === undefined ? null : publicFields[kind](JSON.parse(json) as never)
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
