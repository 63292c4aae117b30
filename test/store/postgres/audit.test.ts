import t from 'tap'
import { openStore } from '../../../src/store/open.ts'
import * as sql from '../../../src/store/postgres/statements/audit.ts'
import { query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'

const { createDatabase } = await startDatabases()

const ROWS = 20_000

/** One row in a hundred has a different actor; each of the 200 subjects has a hundred rows. */
const FILL = `
  INSERT INTO audit_events (at, actor, origin, remote_address, action, subject_kind, subject)
  SELECT n, CASE WHEN n % 100 = 0 THEN 'rare' ELSE 'robot' END, 'API', 'h', 'a', 'application', 's' || n % 200
    FROM generate_series(1, ${ROWS}) n`

t.test('PostgreSQL: listing audit events reads few more rows than it returns, however many there are', async (t) => {
  const url = await createDatabase()
  const store = await openStore(locationOf(url), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  await query(url, FILL)
  await query(url, 'ANALYZE audit_events')
  const plans: [statement: string, values: unknown[], index: string][] = [
    [sql.listAuditEvents, [0, null, 50], 'pkey'],
    [sql.listAuditEvents, [0, 10_000, 50], 'pkey'],
    [sql.listAuditEvents, [ROWS - 20, null, 50], 'by_time'],
    [sql.listAuditEventsOfActor, [0, null, 50, 'robot'], '(by_actor|pkey)'],
    [sql.listAuditEventsOfActor, [0, 10_000, 50, 'rare'], 'by_actor'],
    [sql.listAuditEventsOfActor, [0, null, 50, 'nobody'], 'by_actor'],
    [sql.listAuditEventsOfSubject, [0, null, 50, 's7', null, 'application'], 'by_subject'],
    [sql.listAuditEventsOfSubject, [0, 10_000, 50, 's7', 'robot', null], 'by_subject'],
    [sql.purgeAuditEvents, [100, 50], 'by_time'],
  ]
  for (const [statement, values, index] of plans) {
    const rows = await query(url, `EXPLAIN (ANALYZE, TIMING OFF) ${statement}`, values)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    t.match(plan, new RegExp(`Index .*audit_events_${index}`))
    t.notMatch(plan, /Seq Scan on audit_events/)
    const counts = [...plan.matchAll(/actual rows=(\d+)|Rows Removed by Filter: (\d+)/g)]
    for (const [, read = 0, removed = 0] of counts) t.ok(Number(read) <= 100 && Number(removed) <= 100, plan)
  }
})
