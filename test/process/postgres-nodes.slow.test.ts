import http from 'node:http'
import t, { type Test } from 'tap'
import { createCluster } from '../support/postgres/nodes.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { command } from '../support/spawn.ts'

const { createDatabase } = await startDatabases()

/** Asks over a few connections that stay open. Resolves to the status and the body. */
function createClient(t: Test, address: string) {
  const agent = new http.Agent({ keepAlive: true })
  t.teardown(() => agent.destroy())
  return (path: string, { headers, form }: { headers?: Record<string, string>; form?: Record<string, string> }) =>
    new Promise<{ status: number; body: string }>((resolve, reject) => {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      const options = { agent, method: form ? 'POST' : 'GET', headers: { ...headers, ...(form && type) } }
      const request = http.request(`${address}${path}`, options, (response) => {
        let body = ''
        response.on('data', (chunk) => {
          body += chunk
        })
        response.on('end', () => resolve({ status: response.statusCode as number, body }))
      })
      request.on('error', reject)
      request.end(form && new URLSearchParams(form).toString())
    })
}

t.test('Many nodes: what one of them has revoked is refused by the others from the next check on', async (t) => {
  const { credentials, startNode } = await createCluster(t, await createDatabase())
  const nodes = await Promise.all([startNode(), startNode(), startNode({ WORKERS: '2' })])
  const asks = nodes.map(({ server }) => createClient(t, server.address))
  const [TRIES, AT_ONCE] = [1000, 16]
  const seen = { fresh: new Set<number>(), revoked: new Set<number>() }
  let tries = 0

  async function loop(start: number): Promise<void> {
    for (let n = start; tries < TRIES; n++) {
      const [one, two, three] = [0, 1, 2].map((more) => asks[(n + more) % 3]) as [Ask, Ask, Ask]
      const issued = await one('/v1/oauth/accesstoken', { form: { grant_type: 'client_credentials', ...credentials } })
      if (issued.status === 503) continue
      const token = JSON.parse(issued.body).access_token as string
      const headers = { authorization: `Bearer ${token}` }
      seen.fresh.add((await two('/v1/oauth/verify', { headers })).status)
      // Checks that are under way may see either; those that begin now may not.
      const [revoked] = await Promise.all([
        three('/v1/oauth/revoke', { form: { ...credentials, token } }),
        two('/v1/oauth/verify', { headers }),
      ])
      if (revoked.status === 503) continue
      if (revoked.status !== 200) throw new Error(`${revoked.status} ${revoked.body}`)
      tries++
      const checks = asks.map((ask) => ask('/v1/oauth/verify', { headers }))
      for (const { status } of await Promise.all(checks)) seen.revoked.add(status)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, at) => loop(at)))
  // A busy machine may have caused a 503.
  t.same([...seen.fresh].filter(isAnswer), [200])
  t.same([...seen.revoked].filter(isAnswer), [401])
})

type Ask = ReturnType<typeof createClient>

const isAnswer = (status: number) => status !== 503

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
    t.equal((await command(t, ['apps', action, credentials.client_id], env)).status, 0)
    t.same(await all(), statuses)
  }
  t.equal((await command(t, ['tokens', 'revoke-all', credentials.client_id], env)).status, 0)
  for (const node of [...nodes, ...nodes]) t.equal(await node.verdict(token), 401)
})

t.test('Many nodes: of five that start on an empty database one migrates, and all run', async (t) => {
  const env = { DATABASE_URL: await createDatabase() }
  const runs = await Promise.all(Array.from({ length: 5 }, () => command(t, ['migrate', '--json'], env)))
  t.same(
    runs.map(({ status }) => status),
    [0, 0, 0, 0, 0],
    runs.map(({ err }) => err).join(''),
  )
  const migrated = runs.map(({ out }) => JSON.parse(out))
  t.equal(migrated.filter(({ from }) => from === 0).length, 1, JSON.stringify(migrated))
})
