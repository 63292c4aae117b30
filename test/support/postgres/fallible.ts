import type { Test } from 'tap'
import { createCluster } from './nodes.ts'
import { startPostgres } from './postgres.ts'
import { startProxy } from './proxy.ts'

/** A server whose database can fail, an application, and a token that it has. */
export async function createFallible(t: Test, settings: NodeJS.ProcessEnv = {}) {
  const postgres = await startPostgres(t)
  const network = await startProxy(t, postgres.port)
  const url = await postgres.createDatabase()
  const { username: role, password } = new URL(url)
  const cluster = await createCluster(t, network.through(url))
  const node = await cluster.startNode(settings)
  return {
    postgres,
    network,
    node,
    env: cluster.env,
    role,
    password,
    /** The address of its database, for the superuser. */
    database: postgres.url(role),
    token: await node.freshToken(),
    terminate: () =>
      postgres.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1', [role]),
    connections: async () => (await postgres.query('SELECT FROM pg_stat_activity WHERE usename = $1', [role])).length,
    query: (text: string) => postgres.query(text, [], role),
  }
}
