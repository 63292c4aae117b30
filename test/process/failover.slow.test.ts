import t from 'tap'
import { startLoad } from '../support/load.ts'
import { createPairCluster, type TestNode } from '../support/postgres/nodes.ts'
import type { startPair } from '../support/postgres/postgres.ts'
import { until } from '../support/until.ts'

/** Clients that ask nodes for tokens and revoke every second one at another node, and note what was answered. */
function startRevoking(nodes: readonly [TestNode, TestNode]) {
  const valid: string[] = []
  const revoked: string[] = []
  const load = startLoad(
    async (client) => {
      const [node, other] = client % 2 ? nodes : nodes.toReversed()
      const { status, body } = await (node as TestNode).token()
      if (status !== 200) return status
      const token = body.access_token as string
      if (Math.random() < 0.5) valid.push(token)
      else if ((await (other as TestNode).revoke(token)) === 200) revoked.push(token)
      return status
    },
    { clients: 6 },
  )
  return { valid, revoked, stop: load.stop }
}

type Pair = Awaited<ReturnType<typeof startPair>>

const FAILURES: { name: string; fail: (pair: Pair) => unknown; comeBack: (pair: Pair) => unknown }[] = [
  { name: 'is killed', fail: ({ primary }) => primary.kill(), comeBack: ({ primary }) => primary.start() },
  { name: 'hangs', fail: ({ primary }) => primary.suspend(), comeBack: ({ primary }) => primary.resume() },
  { name: 'is shut down', fail: ({ primary }) => primary.kill('SIGINT'), comeBack: ({ primary }) => primary.start() },
  { name: 'is cut off from the other', fail: ({ network }) => network.refuse(), comeBack: () => {} },
]

// Some of the time nothing happens.
t.jobs = 2
for (const { name, fail, comeBack } of FAILURES) {
  const rule = 'nodes find the next one, and nothing is lost that was answered'
  t.test(`A primary that ${name}: ${rule}`, { buffered: true }, async (t) => {
    const { pair, role, startNode } = await createPairCluster(t)
    const nodes = [await startNode(), await startNode()] as const
    const load = startRevoking(nodes)
    const hasMore = async (more: number) => {
      const [before, beforeRevoked] = [load.valid.length, load.revoked.length]
      await until(() => load.valid.length > before + more && load.revoked.length > beforeRevoked + more)
    }
    await hasMore(20)
    await fail(pair)
    // A node trusts a primary for three seconds after its last commit there: who promotes sooner may lose a revocation.
    await until(async () => {
      const statuses = await Promise.all(nodes.map((node) => node.verify(load.valid[0] as string)))
      return statuses.every((status) => status === 503)
    })
    await pair.promote()
    await hasMore(20)

    // It does not know that there is another one.
    await comeBack(pair)
    await pair.standby.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role])
    await hasMore(20)
    await load.stop()

    for (const [tokens, status] of [
      [load.valid, 200],
      [load.revoked, 401],
    ] as const) {
      const seen = new Set<number>()
      for (let at = 0; at < tokens.length; at += 20) {
        const checks = tokens.slice(at, at + 20).map((token, at) => (nodes[at % 2] as TestNode).verdict(token))
        for (const status of await Promise.all(checks)) seen.add(status)
      }
      t.same([...seen], [status], `${tokens.length} tokens`)
    }
  })
}

t.test('A primary that was cut off from the next one: who knows only it checks nothing', async (t) => {
  const { pair, env, startNode } = await createPairCluster(t)
  const [host] = env.DATABASE_URL.split(/(?=,127)/)
  const lonely = await startNode({ DATABASE_URL: `${host}/${env.DATABASE_URL.split('/').at(-1)}` })
  const node = await startNode()
  const token = await node.freshToken()
  t.equal(await lonely.verdict(token), 200)
  await pair.network.refuse()
  await until(async () => (await lonely.verify(token)) === 503)
  await pair.promote()
  await until(async () => (await node.revoke(token)) === 200)
  for (let n = 0; n < 10; n++) t.equal(await lonely.verify(token), 503)
  t.equal(await node.verdict(token), 401)
})

t.test('A standby that is away: nothing is issued, checked or revoked, and one commit per process waits', async (t) => {
  const { pair, waiting, startNode } = await createPairCluster(t)
  const nodes = [await startNode(), await startNode({ WORKERS: '2' })] as const
  const token = await nodes[0].freshToken()
  for (const away of [pair.standby.suspend, pair.network.swallow, pair.network.refuse]) {
    await away()
    for (let n = 0; n < 3; n++) {
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
