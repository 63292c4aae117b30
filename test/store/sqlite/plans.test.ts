import t from 'tap'
import * as sql from '../../../src/store/shared/statements/audit.ts'
import {
  listBusy,
  listEndingSecrets,
  listUsage,
  recordUses,
  sumUsage,
} from '../../../src/store/shared/statements/figures.ts'
import { OLD_ROWS, type OldRows } from '../../../src/store/shared/statements/purge.ts'
import {
  findRefusedRequests,
  keepNewestRefusedRequests,
  listLastRefused,
  listRefusedRequests,
} from '../../../src/store/shared/statements/refusals.ts'
import { createRunner } from '../../../src/store/sqlite/context.ts'
import { purgeRows } from '../../../src/store/sqlite/purge.ts'
import { openTables } from './databases.ts'

const IN_SPANS = 'SEARCH usage_counts USING PRIMARY KEY (span=? AND since=? AND owner_id=?),'

t.test('SQLite: each list and purge of events, refusals or usage uses an index, and reads no further', async (t) => {
  const db = openTables(t)
  createRunner(db)
  const page = { 1: 1, 2: 1, 3: 1, 4: 1 }
  const ofActor = { ...page, 5: 'a' }
  const ofRequest = { ...page, 5: 'r', 6: 'a' }
  const ofSubject = { ...page, 5: 's', 6: 'a', 7: 'r', 8: null }
  const requests = { 1: 1, 2: 1, 3: null, 4: null, 5: null, 6: null, 7: null, 8: 1, 9: 2 }
  const newest = 'CO-ROUTINE newest, SCAN refusals USING INDEX refusals_by_time, SCAN newest,'
  const purges = Object.entries({
    'token counts': 'PRIMARY KEY (hour<?),',
    usage: 'PRIMARY KEY (span=? AND since<?),',
    refusals: 'refusals_by_time (last_at<?),',
    'refused requests': 'INTEGER PRIMARY KEY (rowid<?),',
    'audit events': 'SEARCH audit_events USING INTEGER PRIMARY KEY (rowid<?),',
    'idempotency records': '(created_at<?),',
  }).map(([what, index]): [string, object, string] => {
    const [rows] = OLD_ROWS[what as keyof typeof OLD_ROWS]
    return [purgeRows(rows as OldRows), { 1: 1, 2: 1 }, index]
  })
  const plans: [statement: string, parameters: object, index: string][] = [
    [sql.listAuditEvents, page, 'INTEGER PRIMARY KEY (rowid>? AND rowid<?),'],
    [sql.listAuditEvents, page, 'COVERING INDEX audit_events_by_time (at>?),'],
    [sql.listAuditEvents, page, 'COVERING INDEX audit_events_by_time (at>? AND at<?),'],
    [sql.listAuditGroups, page, 'INTEGER PRIMARY KEY (rowid>? AND rowid<?),'],
    [sql.listAuditGroups, page, 'SEARCH other USING INDEX audit_events_by_time (at=? AND rowid>?),'],
    [sql.listAuditEventsOfActor, ofActor, 'audit_events_by_actor (actor=? AND rowid>? AND rowid<?),'],
    [sql.listAuditEventsOfActor, ofActor, 'audit_events_by_actor_email (actor_email=? AND rowid>? AND rowid<?),'],
    [sql.listAuditEventsOfSubject, ofSubject, 'audit_events_by_subject (subject=? AND rowid>? AND rowid<?),'],
    [sql.listAuditEventsOfRequest, ofRequest, 'audit_events_by_request (request_id=? AND rowid>? AND rowid<?),'],
    [sql.findAuditHead, {}, 'SCALAR SUBQUERY 1, SEARCH audit_events USING INDEX audit_events_unchained,'],
    [sql.listRemovals, { 1: 9 }, 'SCAN e USING INDEX audit_events_removed,'],
    [sql.listAcknowledged, { 1: 1, 2: 9 }, 'SCAN audit_events USING INDEX audit_events_acknowledged,'],
    [sql.listUnchained, { 1: 9 }, 'SCAN audit_events USING INDEX audit_events_unchained,'],
    [sql.linkAuditEvents, { 1: '[]' }, 'SEARCH audit_events USING INTEGER PRIMARY KEY (rowid=?),'],
    [sql.listAuditLinks, { 1: 1, 2: 9 }, 'SEARCH audit_events USING INTEGER PRIMARY KEY (rowid>?),'],
    [sql.listUnchangedSince, { 1: '["a"]', 2: 1 }, 'SEARCH e USING INDEX audit_events_by_subject (subject=?),'],
    [listUsage(2), { 1: '["a"]', 2: 1, 3: 1, 4: 2 }, IN_SPANS],
    [sumUsage(2), { 1: 1, 2: 9, 3: 1, 4: 1, 5: 2 }, `${IN_SPANS.slice(0, -4)}>? AND owner_id<?),`],
    [listBusy, { 1: 1, 2: 1 }, 'SEARCH usage_counts USING PRIMARY KEY (span=? AND since>?),'],
    [listLastRefused, { 1: 100 }, newest],
    [keepNewestRefusedRequests, { 1: 1, 2: 1 }, 'refused_requests_by_known (is_known=?),'],
    [listEndingSecrets, { 1: 1, 2: 2, 3: 9 }, 'SEARCH s USING INDEX secrets_ending (ends_at>? AND ends_at<?),'],
    ...purges,
    [listRefusedRequests, requests, 'SEARCH refused_requests USING INTEGER PRIMARY KEY (rowid<?),'],
    [findRefusedRequests, { ...requests, 10: 'r' }, 'refused_requests_by_request_id (request_id=? AND rowid<?),'],
  ]
  const planOf = (statement: string, parameters: object) => {
    const steps = db.prepare(`EXPLAIN QUERY PLAN ${statement}`).all(parameters) as { detail: string }[]
    return steps.map(({ detail }) => `${detail},`).join(' ')
  }
  // Else each row would be compared with each owner.
  t.match(planOf(recordUses('secret', ''), { 1: '[]' }), /^SCAN rows_of [^,]*, LIST SUBQUERY/)
  for (const [statement, parameters, index] of plans) {
    const plan = planOf(statement, parameters)
    t.ok(plan.includes(index), `${index} in ${plan}`)
    // A few of the oldest events, in the order of their ids; and the index of the events that are not chained.
    const scans = [listLastRefused, listUsage(2)].includes(statement)
      ? /SCAN [as] /
      : /(?<!oldest, )SCAN audit_events(?! USING INDEX audit_events_(unchained|acknowledged))/
    t.notMatch(plan, scans)
    const isSorted = [
      listLastRefused,
      listUsage(2),
      sumUsage(2),
      listBusy,
      sql.listAuditEventsOfActor,
      findRefusedRequests,
    ].includes(statement)
    if (!isSorted) t.notMatch(plan, /TEMP B-TREE/)
  }
})
