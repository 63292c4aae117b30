import t from 'tap'
import { startLoad } from '../support/load.ts'
import { query } from '../support/postgres/databases.ts'
import { createCluster } from '../support/postgres/nodes.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { until } from '../support/until.ts'

t.test('PostgreSQL: lost connections are at most some 503', async (t) => {
  const { createDatabase } = await startDatabases()
  const url = await createDatabase()
  const { startNode } = await createCluster(t, url)
  const node = await startNode()
  const token = await node.freshToken()
  const isBack = () => until(async () => (await node.ready()) === 200 && (await node.issue()) === 200)

  const load = startLoad((client) => (client % 2 ? node.issue() : node.verify(token)))
  const end = 'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = user AND pid <> pg_backend_pid()'
  for (let n = 0; n < 3; n++) {
    t.ok((await query(url, end)).length > 0)
    await isBack()
  }
  const others = (await load.stop()).filter((status) => status !== 503)
  t.strictSame(others, [200])
  t.equal(await node.verdict(token), 200)
  t.match(await node.server.stop(), { status: 0 })
})
