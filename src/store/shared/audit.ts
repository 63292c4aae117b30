import { hash } from 'node:crypto'
import type { AuditHead, AuditLink } from '../../domain/audit-chain.ts'
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
  const previous = yield* chain(at, UNCHAINED)
  const chainedAt = previous ? at : null
  const values = [rowsJson(rows), at, actor, origin, remoteAddress, requestId, chainedAt]
  const added = yield* ask<StoredEvent>(sql.insertAuditEvents, values)
  added.sort(([one], [other]) => one - other)
  if (previous) yield* link(added, at, previous)
}

/** How many events of older programs a change chains at most. */
const UNCHAINED = 1000

type StoredEvent = [id: number, at: number, ...others: unknown[]]

/** The time and the hash of an event, as the next one has them; null before the first one. */
type Previous = readonly [at: number | null, hash: string | null]

/** Chains at most `limit` events that are not yet, oldest first. Returns the last event; undefined if there may be more. */
function* chain(now: number, limit: number): Work<Previous | undefined> {
  const [head] = yield* ask<[id: number, at: number, hash: string]>(sql.findAuditHead)
  const previous: Previous = head ? [head[1], head[2]] : [null, null]
  const found = yield* ask<StoredEvent>(sql.listUnchained, [limit])
  const last = yield* link(found, now, previous)
  return found.length < limit ? last : undefined
}

/** Gives events their places in the chain, after the previous event. Returns the last one. */
function* link(events: readonly StoredEvent[], chainedAt: number, previous: Previous): Work<Previous> {
  let last = previous
  const links = events.map((event) => {
    const [id, at] = event
    const [previousAt, previousHash] = last
    const hash = hashOf([...event, chainedAt, previousAt, previousHash])
    last = [at, hash]
    return { id, chainedAt, previousAt, previousHash, hash }
  })
  if (links.length > 0) yield* ask(sql.linkAuditEvents, [rowsJson(links)])
  return last
}

/** SHA-256 of the texts and numbers as they are stored, so that it is the same in both databases. */
function hashOf(columns: readonly unknown[]): string {
  return hash('sha256', JSON.stringify(columns), 'base64url')
}

export function databaseEntry(
  action: AuditEntry['action'],
  location: string,
  before: PublicFields,
  after: PublicFields,
): AuditEntry {
  return { action, subjectKind: 'database', subject: location, before, after }
}

/** The columns of an event, as its hash has them. */
const EVENT = [
  ...(['id', 'at', 'actor', 'actorEmail', 'origin', 'remoteAddress', 'requestId'] as const),
  ...(['action', 'kind', 'subject', 'before', 'after'] as const),
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

    listRemovals: (limit) => list(sql.listRemovals, [limit]),

    acknowledge(warnings, audit) {
      const about = { action: 'warning acknowledged', subjectKind: 'warning', before: null } as const
      const entries = warnings.map(({ id, name, detail }) => ({ ...about, subject: id, after: { name, detail } }))
      return database.transact(() => record(audit, entries), { isCopied: true })
    },

    async listAcknowledged(after, limit) {
      return (await database.ask<[id: string]>(sql.listAcknowledged, [after, limit])).map(([id]) => id)
    },

    async listAuditLinks({ after = -END, limit }) {
      const rows = await database.ask(sql.listAuditLinks, [after, limit])
      const found = rows.map((row) => [...row, hashOf(row.slice(0, -1))])
      const place = ['chainedAt', 'previousAt', 'previousHash', 'hash', 'actualHash'] as const
      return toObjects<AuditLink & Row>(found, ...EVENT, ...place)
    },

    findAuditHead: async () => toObjects<AuditHead>(await database.ask(sql.findAuditHead), 'id', 'at', 'hash')[0],

    async chainAuditEvents(limit, now) {
      const found = await database.ask(sql.listUnchained, [1])
      if (found.length > 0) await database.transact(() => chain(now, limit), { isCopied: false })
      return found.length > 0
    },

    findSealedAnswer: (digest, madeAfter) => singleValue(database.ask(sql.findSealedAnswer, [digest, madeAfter])),
  }

  async function list(statement: string, values: unknown[]): Promise<AuditEvent[]> {
    const rows = toObjects<Row>(await database.ask(statement, values), ...EVENT, 'count')
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
