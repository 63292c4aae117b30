import type { Database } from 'better-sqlite3'
import type { Audit } from '../../domain/audit-event.ts'
import type { AuditTrail } from '../../domain/store.ts'
import {
  type AuditRow,
  type Concerned,
  type Happened,
  type StoredKind,
  toAuditEvent,
  whatHappened,
} from '../audited.ts'
import type { Change } from './change.ts'
import type { Context } from './context.ts'
import * as sql from './statements/audit.ts'
import { findOperator } from './statements/operators.ts'
import { findApplication, findSuite } from './statements/registry.ts'

/** Makes one change as `Change` does. What it has changed of these subjects is one audit event for each. */
export type AuditedChange = <Result>(
  audit: Audit,
  concerned: readonly Concerned[],
  action: () => Result,
) => Promise<Result>

/** How each kind of subject is found by its id: as JSON. */
const FIND: Record<StoredKind, string> = { application: findApplication, suite: findSuite, operator: findOperator }

export function createAuditedChange({ db }: Pick<Context, 'db'>, change: Change): AuditedChange {
  const find = Object.fromEntries(
    Object.entries(FIND).map(([kind, statement]) => [kind, db.prepare<[string], string>(statement).pluck()]),
  ) as Record<StoredKind, ReturnType<typeof db.prepare<[string], string>>>
  const record = createRecord(db)

  return (audit, concerned, action) =>
    change(() => {
      const read = () => concerned.map(({ kind, id }) => find[kind].get(id))
      const before = read()
      const result = action()
      const after = read()
      for (const [at, one] of concerned.entries()) {
        const happened = whatHappened(one, before[at], after[at])
        if (happened) record(audit, happened)
      }
      return result
    })
}

/** Adds an audit event, in the transaction of what it says. */
function createRecord(db: Database): (audit: Audit, happened: Happened) => void {
  const insert = db.prepare(sql.insertAuditEvent)
  return ({ author, at }, happened) => {
    const { actor, origin, remoteAddress, requestId = null } = author
    insert.run({ at, actor, origin, remoteAddress, requestId, ...happened })
  }
}

/** Who changed what, in SQLite. */
export function createAuditTrail({ db, read, write }: Pick<Context, 'db' | 'read' | 'write'>): AuditTrail {
  const list = db.prepare<object, AuditRow>(sql.listAuditEvents)
  const listOfActor = db.prepare<object, AuditRow>(sql.listAuditEventsOfActor)
  const listOfSubject = db.prepare<object, AuditRow>(sql.listAuditEventsOfSubject)
  const purge = db.prepare(sql.purgeAuditEvents)

  return {
    listAuditEvents({ since = 0, before = null, actor = null, subject = null, limit }) {
      const statement = subject !== null ? listOfSubject : actor !== null ? listOfActor : list
      return read(() => statement.all({ since, before, actor, subject, limit }).map(toAuditEvent))
    },
    purgeAuditEvents: (before, limit) => write(() => purge.run(before, limit).changes),
  }
}
