import t from 'tap'
import { openDatabase } from '../../../src/store/sqlite/connection.ts'
import { listLastRefused } from '../../../src/store/sqlite/statements/refusals.ts'

t.test('SQLite: those that were refused last are read by an index, newest first, and no further', async (t) => {
  const db = openDatabase(':memory:', (db) => db)
  t.teardown(() => db.close())
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${listLastRefused}`).all({ rows: 100, limit: 5 }) as { detail: string }[]
  const steps = plan.map(({ detail }) => detail)
  const at = steps.indexOf('CO-ROUTINE newest')
  t.strictSame(steps.slice(at + 1, at + 3), ['SCAN refusals USING INDEX refusals_by_time', 'SCAN newest'])
  t.notMatch(steps.join(), /SCAN [as] /)
})
