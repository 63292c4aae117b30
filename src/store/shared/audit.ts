import type { AuditEvent, Authorship, PublicFields, SubjectKind } from '../../domain/audit-event.ts'
import type { Event } from '../../domain/events.ts'
import type { AuditTrail } from '../../domain/store.ts'
import * as sql from './statements/audit.ts'
import { ask, type Database, END, rowsJson, singleValue, toObjects, type Work } from './work.ts'

export interface AuditEntry {
  action: Event['type']
  subjectKind: SubjectKind
  subject: string
  before: PublicFields | null
  after: PublicFields | null
}

/** Adds audit events in the transaction of the change. */
export function* record({ author, at }: Authorship, entries: readonly AuditEntry[]): Work<void> {
  const { actor, origin, remoteAddress, requestId } = author
  const rows = entries.map(({ before, after, ...rest }) => ({
    ...rest,
    before: before && JSON.stringify(before),
    after: after && JSON.stringify(after),
  }))
  yield* ask(sql.insertAuditEvents, [rowsJson(rows), at, actor, origin, remoteAddress, requestId])
}

export function databaseEntry(
  action: AuditEntry['action'],
  location: string,
  before: PublicFields,
  after: PublicFields,
): AuditEntry {
  return { action, subjectKind: 'database', subject: location, before, after }
}

const COLUMNS = [
  ...(['id', 'at', 'actor', 'actorEmail', 'origin', 'remoteAddress', 'requestId'] as const),
  ...(['action', 'kind', 'subject', 'before', 'after', 'count'] as const),
]

interface Row extends Omit<AuditEvent, 'subject' | 'before' | 'after'> {
  kind: SubjectKind
  subject: string
  before: string | null
  after: string | null
}

export function createAuditTrail(database: Database): AuditTrail {
  return {
    async listAuditEvents({ since = 0, until = END, before = null, limit, grouped = false, ...filter }) {
      const { actor = null, subject = null, requestId = null, kind = null } = filter
      const page = [since, before, limit, until]
      if (subject !== null) return list(sql.listAuditEventsOfSubject, [...page, subject, actor, requestId, kind])
      if (requestId !== null) return list(sql.listAuditEventsOfRequest, [...page, requestId, actor])
      if (actor === null) return list(grouped ? sql.listAuditGroups : sql.listAuditEvents, page)
      return list(grouped ? sql.listAuditGroupsOfActor : sql.listAuditEventsOfActor, [...page, actor])
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
