import t from 'tap'
import { openStore } from '../../../src/store/open.ts'
import { listLastRefused } from '../../../src/store/postgres/statements/refusals.ts'
import { query } from '../../support/postgres/databases.ts'
import { locationOf } from '../../support/postgres/location.ts'
import { startDatabases } from '../../support/postgres/postgres.ts'

const { createDatabase } = await startDatabases()

/** Twenty rows for each of a thousand applications, and a hundred newer ones of unknown client ids. */
const FILL = `
  INSERT INTO refusals (owner_id, client_id, reason, endpoint, suite, remote_address, count, first_at, last_at)
  SELECT CASE WHEN n > 20000 THEN 0 ELSE 1 + n % 1000 END, 'c', 'r', '/', '', n, 1, n, n
    FROM generate_series(1, 20100) n`

t.test('PostgreSQL: those that were refused last are read by an index, newest first, and no further', async (t) => {
  const url = await createDatabase()
  const store = await openStore(locationOf(url), { lockTimeout: 2000 })
  t.teardown(() => store.close())
  await query(url, FILL)
  await query(url, 'ANALYZE refusals')
  const rows = await query(url, `EXPLAIN (ANALYZE, TIMING OFF) ${listLastRefused}`, [100, 5])
  const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
  t.match(plan, /Index Scan Backward using refusals_by_time/)
  t.notMatch(plan, /Seq Scan on refusals/)
  const counts = [...plan.matchAll(/actual rows=(\d+)|Rows Removed by Filter: (\d+)/g)]
  for (const [, read = 0, removed = 0] of counts) t.ok(Number(read) <= 100 && Number(removed) <= 100, plan)
})
