import t from 'tap'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import * as sql from '../../../src/store/sqlite/statements/audit.ts'
import { listLastRefused } from '../../../src/store/sqlite/statements/refusals.ts'

t.test('SQLite: every way to list or purge audit events uses an index', async (t) => {
  const db = openDatabase(':memory:', (db) => db)
  t.teardown(() => db.close())
  const page = { since: 1, before: 1, limit: 1, actor: 'a', subject: 's', kind: null }
  const plan = (statement: string, parameters: object) =>
    (db.prepare(`EXPLAIN QUERY PLAN ${statement}`).all(parameters) as { detail: string }[]).map(({ detail }) => detail)
  const plans: [statement: string, parameters: object, index: string][] = [
    [sql.listAuditEvents, page, 'INTEGER PRIMARY KEY (rowid>? AND rowid<?)'],
    [sql.listAuditEvents, page, 'COVERING INDEX audit_events_by_time (at>?)'],
    [sql.listAuditEventsOfActor, page, 'audit_events_by_actor (actor=? AND rowid>? AND rowid<?)'],
    [sql.listAuditEventsOfSubject, page, 'audit_events_by_subject (subject=? AND rowid>? AND rowid<?)'],
    [sql.purgeAuditEvents, [1, 1], 'audit_events_by_time (at<?)'],
  ]
  for (const [statement, parameters, index] of plans) {
    const steps = plan(statement, parameters)
    t.ok(
      steps.some((step) => step.endsWith(index)),
      index,
    )
    t.notMatch(steps.join('\n'), /SCAN audit_events|TEMP B-TREE/)
  }
})

t.test('SQLite: those that were refused last are read by an index, newest first, and no further', async (t) => {
  const db = openDatabase(':memory:', (db) => db)
  t.teardown(() => db.close())
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${listLastRefused}`).all({ rows: 100, limit: 5 }) as { detail: string }[]
  const steps = plan.map(({ detail }) => detail)
  const at = steps.indexOf('CO-ROUTINE newest')
  t.strictSame(steps.slice(at + 1, at + 3), ['SCAN refusals USING INDEX refusals_by_time', 'SCAN newest'])
  t.notMatch(steps.join(), /SCAN [as] /)
})
