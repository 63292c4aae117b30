import t from 'tap'
import { createCluster, type TestNode } from '../support/postgres/nodes.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { register } from '../support/register.ts'
import { run, runJson } from '../support/run.ts'
import { startServer } from '../support/spawn.ts'
import { SQLITE, startPostgresStore } from '../support/stores.ts'
import { until } from '../support/until.ts'

const { createDatabase } = await startDatabases()

/** A busy machine may have caused a 503. */
const isAnswer = (status: number) => status !== 503

t.test('Many nodes: what one of them has revoked is refused by the others from the next check on', async (t) => {
  const { startNode } = await createCluster(t, await createDatabase())
  const nodes = await Promise.all([startNode(), startNode(), startNode({ WORKERS: '2' })])
  const seen = { fresh: new Set<number>(), revoked: new Set<number>() }
  let tries = 0
  async function loop(start: number): Promise<void> {
    for (let n = start; tries < 200; n++) {
      const [one, two, three] = [0, 1, 2].map((more) => nodes[(n + more) % 3]) as [TestNode, TestNode, TestNode]
      const token = await one.freshToken()
      seen.fresh.add(await two.verify(token))
      // Checks that are under way may see either; those that begin now may not.
      const [revoked] = await Promise.all([three.revoke(token), two.verify(token)])
      if (revoked === 503) continue
      t.equal(revoked, 200)
      tries++
      for (const status of await Promise.all(nodes.map((node) => node.verify(token)))) seen.revoked.add(status)
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, at) => loop(at)))
  t.same([...seen.fresh].filter(isAnswer), [200])
  t.same([...seen.revoked].filter(isAnswer), [401])
})

t.test('Many nodes: what a command has changed is seen by all from the next request on', async (t) => {
  const { env, credentials, startNode } = await createCluster(t, await createDatabase())
  const nodes = [await startNode(), await startNode({ WORKERS: '2' })] as const
  const token = await nodes[0].freshToken()
  async function all() {
    const statuses = await Promise.all([...nodes, ...nodes].flatMap((node) => [node.verdict(token), node.issue()]))
    return [...new Set(statuses.filter(isAnswer))]
  }
  t.same(await all(), [200])
  for (const [action, statuses] of [
    ['suspend', [401]],
    ['resume', [200]],
  ] as const) {
    t.match(await run(['apps', action, credentials.client_id], { env }), { status: 0 })
    t.same(await all(), statuses)
  }
  t.match(await run(['tokens', 'revoke-all', credentials.client_id], { env }), { status: 0 })
  for (const node of [...nodes, ...nodes]) t.equal(await node.verdict(token), 401)
})

for (const { name, createEnv } of [SQLITE, await startPostgresStore()]) {
  t.test(
    `why, on ${name}: what several workers did and refused is known soon, and all of it at their end`,
    async (t) => {
      const env = { ...(await createEnv(t)), WORKERS: '2' }
      const credentials = await register(env)
      const { client_id } = credentials
      const server = await startServer(t, env)
      const wrong = { ...credentials, client_secret: 'wrong' }
      for (let n = 0; n < 4; n++) t.equal(await server.issue(wrong), 401)
      t.equal(await server.issue({ ...wrong, client_id: `${client_id}x` }), 401)

      const explain = (clientId = client_id) => runJson(['why', clientId], { env })
      await until(async () => (await explain()).refusals[0]?.count === 4)
      const { diagnosis, refusals } = await explain()
      const wrongly =
        /^Its requests are refused, 4 times, .* The secret that it sends is wrong, and the right one was not/
      t.match(diagnosis, wrongly)
      t.match(refusals, [{ reason: 'wrong secret', endpoint: '/v1/oauth/accesstoken', remote_address: '127.0.0.1' }])
      const [line] = server
        .logged('authentication refused')
        .filter((line) => line.request_id === refusals[0].request_id)
      t.match(line, { client_id, reason: 'wrong secret' }, 'the log has the request')
      t.equal(new Set(server.logged('authentication refused').map(({ pid }) => pid)).size, 2)
      t.match((await explain(`${client_id}x`)).similar_refusals, [{ client_id: /^\w{4}\.\.\. \(33 characters\)$/ }])

      for (let n = 0; n < 4; n++) t.equal(await server.issue(credentials), 200)
      t.equal(await server.issue(wrong), 401)
      t.match(await server.stop(), { status: 0 })
      t.equal(server.issuers().length, 2)
      const last = await explain()
      t.match(last, {
        refusals: [{ count: 5 }],
        application: { secrets: [{ state: 'active' }], tokens_refused_this_hour: 0 },
      })
      t.match(last.diagnosis, /^(It works again|Its requests are refused)/)
      const shown = await runJson(['apps', 'show', client_id], { env })
      const [listed] = await runJson(['apps', 'list'], { env })
      t.equal(listed.tokens_this_hour + listed.tokens_last_hour, 4)
      t.match(shown, { last_token_at: /^\d{4}-.*Z$/, secrets: [{ last_used_at: /^\d{4}-.*Z$/ }] })
    },
  )
}
