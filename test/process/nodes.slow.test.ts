import t, { type Test } from 'tap'
import { freePort } from '../support/free-port.ts'
import { query } from '../support/postgres/databases.ts'
import { createCluster } from '../support/postgres/nodes.ts'
import { startDatabases } from '../support/postgres/postgres.ts'
import { command } from '../support/spawn.ts'
import { until } from '../support/until.ts'

const { createDatabase } = await startDatabases()

t.test('Nodes: servers on one PostgreSQL see each other, and which ones have stopped or were killed', async (t) => {
  const url = await createDatabase()
  const { env, startNode } = await createCluster(t, url)
  // Each has its own port, and so its own name.
  const admin = async (more = {}) => ({ ADMIN_ADDRESS: '127.0.0.1:0', PORT: String(await freePort()), ...more })
  const one = await startNode(await admin())
  const two = await startNode(await admin({ WORKERS: '2' }))
  const three = await startNode(await admin())
  await startNode()
  const authorization = await bearer(t, env)
  const seenBy = async ({ server }: typeof one) => {
    const address = `${server.logged('ready')[0].admin}/admin/v1/statistics`
    const { nodes } = await (await fetch(address, { headers: { authorization } })).json()
    return nodes as { is_this: boolean; is_gone: boolean; workers: { expected: number } }[]
  }
  // Without an admin listener a node does not count traffic.
  for (const node of [one, two, three]) {
    await until(async () => (await seenBy(node)).length === 3)
    const seen = await seenBy(node)
    t.equal(seen.filter(({ is_this }) => is_this).length, 1)
    t.strictSame(seen.map(({ workers }) => workers.expected).toSorted(), [1, 1, 2])
  }

  three.server.child.kill('SIGTERM')
  t.match(await three.server.exited, { status: 0 })
  await until(async () => (await seenBy(one)).length === 2)

  two.server.child.kill('SIGKILL')
  await two.server.exited
  t.strictSame(
    (await seenBy(one)).map(({ is_gone }) => is_gone),
    [false, false],
    'it may come back',
  )
  // Makes its last report half a minute old.
  await query(url, 'UPDATE nodes SET last_seen_at = last_seen_at - 31000')
  await until(async () => (await seenBy(one)).some(({ is_gone }) => is_gone))
  t.strictSame(
    (await seenBy(one)).map(({ is_this, is_gone }) => is_this !== is_gone),
    [true, true],
  )
})

/** The Authorization header of an operator. */
async function bearer(t: Test, env: NodeJS.ProcessEnv): Promise<string> {
  await command(t, ['operators', 'add', 'viktor', '--role', 'viewer'], env)
  const { out } = await command(t, ['operators', 'key', 'viktor', '--expires', '1d'], env)
  return `Bearer ${/otsa_\w+/.exec(out)?.[0]}`
}
