import type { Audit, AuditEvent } from '../../domain/audit-event.ts'
import { IDEMPOTENCY_LIFETIME, IdempotencyKeyTaken } from '../../domain/idempotency.ts'
import type { AuditTrail } from '../../domain/store.ts'
import { type AuditEntry, type AuditSubject, auditEntryOf, type Snapshot, toAuditEvent } from '../audited.ts'
import type { Commands } from './commands.ts'
import type { Ask } from './connection.ts'
import * as sql from './statements/audit.ts'
import { readOperators } from './statements/operators.ts'
import { readSubjects } from './statements/registry.ts'
import { textArrayOf } from './values.ts'

/** Makes a change in one transaction under the registry lock, with one audit event for each of these subjects that changed. */
export type AuditedChange = <Result>(
  audit: Audit,
  subjects: readonly AuditSubject[],
  action: (ask: Ask) => Promise<Result>,
) => Promise<Result>

export function createAuditedChange({ changeRegistry }: Commands): AuditedChange {
  return (audit, subjects, action) =>
    changeRegistry(async (ask) => {
      const { idempotency, at } = audit
      if (idempotency && (await findSealedAnswer(ask, idempotency.digest, at - IDEMPOTENCY_LIFETIME)) !== undefined) {
        throw new IdempotencyKeyTaken()
      }
      const before = await snapshots(ask, subjects)
      const result = await action(ask)
      const after = await snapshots(ask, subjects)
      const entries = subjects.flatMap((one, nth) => auditEntryOf(one, before[nth], after[nth]) ?? [])
      if (entries.length === 0) return result
      await record(ask, audit, entries)
      if (idempotency) await ask(sql.insertIdempotencyRecord, [idempotency.digest, idempotency.sealed, at])
      return result
    })
}

/** Adds audit events in the transaction of the change. */
export async function record(ask: Ask, { author, at }: Audit, entries: readonly AuditEntry[]): Promise<void> {
  const { actor, origin, remoteAddress, requestId } = author
  await ask(sql.insertAuditEvents, [
    at,
    actor,
    origin,
    remoteAddress,
    requestId,
    entries.map(({ action }) => action),
    entries.map(({ subjectKind }) => subjectKind),
    entries.map(({ subject }) => subject),
    entries.map(({ before }) => before),
    entries.map(({ after }) => after),
  ])
}

async function findSealedAnswer(ask: Ask, digest: string, madeAfter: number): Promise<string | undefined> {
  const [row] = await ask<[sealed: string]>(sql.findSealedAnswer, [digest, madeAfter])
  return row?.[0]
}

/** The snapshots of these subjects, in their order. No change affects both operators and other subjects. */
async function snapshots(ask: Ask, subjects: readonly AuditSubject[]): Promise<Snapshot[]> {
  const idsOf = (kind: AuditSubject['kind']) =>
    textArrayOf(subjects.filter((one) => one.kind === kind).map(({ id }) => id))
  type SubjectRow = [kind: string, id: string, json: string]
  const operators = idsOf('operator')
  const rows =
    operators.length > 0
      ? await ask<SubjectRow>(readOperators, [operators])
      : await ask<SubjectRow>(readSubjects, [idsOf('application'), idsOf('suite')])
  const found = new Map(rows.map(([kind, id, json]) => [`${kind} ${id}`, json]))
  return subjects.map(({ kind, id }) => found.get(`${kind} ${id}`))
}

type Row = [
  id: number,
  at: number,
  actor: string,
  origin: AuditEvent['origin'],
  remoteAddress: string,
  requestId: string | null,
  action: string,
  subjectKind: AuditEvent['subject']['kind'],
  subject: string,
  before: string | null,
  after: string | null,
]

export function createAuditTrail({ ask, askNumberInBackground }: Commands): AuditTrail {
  return {
    async listAuditEvents({ since = 0, before = null, actor = null, subject = null, kind = null, limit }) {
      const page = [since, before, limit]
      if (subject !== null) return list(sql.listAuditEventsOfSubject, [...page, subject, actor, kind])
      return actor !== null ? list(sql.listAuditEventsOfActor, [...page, actor]) : list(sql.listAuditEvents, page)
    },
    findSealedAnswer: (digest, madeAfter) => findSealedAnswer(ask, digest, madeAfter),
    purgeIdempotencyRecords: (before, limit) => askNumberInBackground(sql.purgeIdempotencyRecords, [before, limit]),
    purgeAuditEvents: (before, limit) => askNumberInBackground(sql.purgeAuditEvents, [before, limit]),
  }

  async function list(statement: string, values: unknown[]): Promise<AuditEvent[]> {
    return (await ask<Row>(statement, values)).map(toEvent)
  }
}

function toEvent(row: Row): AuditEvent {
  const [id, at, actor, origin, remoteAddress, requestId, action, subjectKind, subject, before, after] = row
  const event = { id, at, actor, origin, remoteAddress, requestId, action, subjectKind, subject, before, after }
  return toAuditEvent(event)
}
