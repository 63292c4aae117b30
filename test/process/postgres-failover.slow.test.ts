import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createPairCluster, type TestNode } from '../support/postgres/nodes.ts'
import type { startPair } from '../support/postgres/postgres.ts'
import { until } from '../support/until.ts'

/** Between two tokens of a client. */
const PAUSE_MS = 5

/** Asks nodes for tokens and revokes every second one, until it is stopped, and notes what was answered. */
function startLoad(nodes: readonly TestNode[]) {
  const valid: string[] = []
  const revoked: string[] = []
  let isOver = false
  const clients = [...nodes, ...nodes, ...nodes].map(async (node, at) => {
    while (!isOver) {
      await sleep(PAUSE_MS)
      const { status, body } = await node.token()
      if (status !== 200) continue
      const token = body.access_token as string
      const other = nodes[(at + 1) % nodes.length] as TestNode
      if (Math.random() < 0.5) valid.push(token)
      else if ((await other.revoke(token)) === 200) revoked.push(token)
    }
  })
  return {
    valid,
    revoked,
    async stop() {
      isOver = true
      await Promise.all(clients)
    },
  }
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
    const load = startLoad(nodes)
    const hasMore = async (more: number) => {
      const [before, beforeRevoked] = [load.valid.length, load.revoked.length]
      await until(() => load.valid.length > before + more && load.revoked.length > beforeRevoked + more)
    }
    await hasMore(20)
    await fail(pair)
    await until(async () => (await nodes[0].issue()) === 503)
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
  const isOver = Date.now() + 3000
  while (Date.now() < isOver) t.equal(await lonely.verify(token), 503)
  t.equal(await node.verdict(token), 401)
})
