import t from 'tap'
import { createPairCluster } from '../support/postgres/nodes.ts'
import { until } from '../support/until.ts'

t.test('A standby that is away: nothing is issued, checked or revoked, and one commit per process waits', async (t) => {
  const { pair, waiting, startNode } = await createPairCluster(t)
  const nodes = [await startNode(), await startNode({ WORKERS: '2' })] as const
  const token = await nodes[0].freshToken()
  for (const away of [pair.standby.suspend, pair.network.swallow, pair.network.refuse]) {
    await away()
    const isOver = Date.now() + 3000
    while (Date.now() < isOver) {
      t.same(await Promise.all(nodes.flatMap((node) => [node.issue(), node.revoke(token)])), [503, 503, 503, 503])
      t.same(await Promise.all(nodes.map((node) => node.live())), [200, 200])
    }
    t.same(await Promise.all(nodes.flatMap((node) => [node.ready(), node.verify(token)])), [503, 503, 503, 503])
    // Of four processes: the second server has a leader.
    t.ok((await waiting()).length <= 4, `${(await waiting()).length} wait`)
    pair.standby.resume()
    await pair.network.heal()
    // Each worker for itself.
    await until(async () => {
      const statuses = await Promise.all([...nodes, ...nodes, ...nodes].map((node) => node.issue()))
      return statuses.every((status) => status === 200)
    })
  }
})

t.test('A wait for the standby that somebody cancels: it is not acknowledged', async (t) => {
  const { pair, waiting, startNode } = await createPairCluster(t)
  const node = await startNode()
  const token = await node.freshToken()
  for (const how of ['pg_cancel_backend', 'pg_terminate_backend']) {
    for (const request of [node.issue, () => node.revoke(token)]) {
      pair.standby.suspend()
      const answer = request()
      // Heartbeats wait too, and are cancelled before the commit that the request waits for is there.
      let isAnswered = false
      void answer.finally(() => {
        isAnswered = true
      })
      while (!isAnswered) for (const { pid } of await waiting()) await pair.primary.query(`SELECT ${how}($1)`, [pid])
      t.equal(await answer, 503, how)
      pair.standby.resume()
      await until(async () => (await node.ready()) === 200)
    }
  }
  t.equal(node.server.logged('token issued').length, 1)
})
