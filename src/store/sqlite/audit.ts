import type { Database } from 'better-sqlite3'
import type { Audit } from '../../domain/audit-event.ts'
import { IDEMPOTENCY_LIFETIME, IdempotencyKeyTaken } from '../../domain/idempotency.ts'
import type { AuditTrail } from '../../domain/store.ts'
import {
  type AuditEntry,
  type AuditRow,
  type AuditSubject,
  auditEntryOf,
  type StoredKind,
  toAuditEvent,
} from '../audited.ts'
import type { Change, Context } from './context.ts'
import * as sql from './statements/audit.ts'
import { findOperator } from './statements/operators.ts'
import { findApplication, findSuite } from './statements/registry.ts'

/** A `Change` with one audit event for each of these subjects that it changed. */
export type AuditedChange = <Result>(
  audit: Audit,
  subjects: readonly AuditSubject[],
  action: () => Result,
) => Promise<Result>

/** Statements that find a subject of each kind by id, as JSON. */
const FIND: Record<StoredKind, string> = { application: findApplication, suite: findSuite, operator: findOperator }

export function createAuditedChange({ db }: Pick<Context, 'db'>, change: Change): AuditedChange {
  const find = Object.fromEntries(
    Object.entries(FIND).map(([kind, statement]) => [kind, db.prepare<[string], string>(statement).pluck()]),
  ) as Record<StoredKind, ReturnType<typeof db.prepare<[string], string>>>
  const record = createRecord(db)
  const findSealedAnswer = db.prepare(sql.findSealedAnswer)
  const insertIdempotencyRecord = db.prepare(sql.insertIdempotencyRecord)

  return (audit, subjects, action) =>
    change(() => {
      const { idempotency, at } = audit
      if (idempotency && findSealedAnswer.get(idempotency.digest, at - IDEMPOTENCY_LIFETIME)) {
        throw new IdempotencyKeyTaken()
      }
      const read = () => subjects.map(({ kind, id }) => find[kind].get(id))
      const before = read()
      const result = action()
      const after = read()
      const entries = subjects.flatMap((one, nth) => auditEntryOf(one, before[nth], after[nth]) ?? [])
      for (const entry of entries) record(audit, entry)
      if (idempotency && entries.length > 0) insertIdempotencyRecord.run({ ...idempotency, at })
      return result
    })
}

/** Adds an audit event in the transaction of the change. */
export function createRecord(db: Database): (audit: Audit, entry: AuditEntry) => void {
  const insert = db.prepare(sql.insertAuditEvent)
  return ({ author, at }, entry) => {
    const { actor, origin, remoteAddress, requestId = null } = author
    insert.run({ at, actor, origin, remoteAddress, requestId, ...entry })
  }
}

export function createAuditTrail({ db, read, write }: Pick<Context, 'db' | 'read' | 'write'>): AuditTrail {
  const list = db.prepare<object, AuditRow>(sql.listAuditEvents)
  const listOfActor = db.prepare<object, AuditRow>(sql.listAuditEventsOfActor)
  const listOfSubject = db.prepare<object, AuditRow>(sql.listAuditEventsOfSubject)
  const purge = db.prepare(sql.purgeAuditEvents)
  const findSealedAnswer = db.prepare<[string, number], string>(sql.findSealedAnswer).pluck()
  const purgeIdempotencyRecords = db.prepare(sql.purgeIdempotencyRecords)

  return {
    listAuditEvents({ since = 0, before = null, actor = null, subject = null, kind = null, limit }) {
      const statement = subject !== null ? listOfSubject : actor !== null ? listOfActor : list
      return read(() => statement.all({ since, before, actor, subject, kind, limit }).map(toAuditEvent))
    },
    purgeAuditEvents: (before, limit) => write(() => purge.run(before, limit).changes),
    findSealedAnswer: (digest, madeAfter) => read(() => findSealedAnswer.get(digest, madeAfter)),
    purgeIdempotencyRecords: (before, limit) => write(() => purgeIdempotencyRecords.run(before, limit).changes),
  }
}
