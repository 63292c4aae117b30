import { fillStore, type Store } from '../../trial/world/data.ts'
import { type Server, startServer } from '../../trial/world/server.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { type Layout, PORTS } from '../cluster/layout.ts'
import type { Member } from '../cluster/member.ts'
import type { World } from '../world.ts'

export const NODES = 3
const APPLICATIONS = 20

/** The role and the database of the nodes. */
const NAME = 'token_server'

/** Creates a role and a database for the nodes. */
export async function createDatabase({ query, leader, layout }: Cluster): Promise<void> {
  const primary = (await leader()) as Member
  await query(primary, `CREATE ROLE ${NAME} LOGIN PASSWORD '${layout.passwords.application}'`)
  await query(primary, `CREATE DATABASE ${NAME} OWNER ${NAME}`)
}

/** The settings of a node that knows all members of a cluster, or only the proxy in front of them. */
export function settingsFor({ members, proxy, passwords }: Layout, { byProxy }: { byProxy: boolean }): Store['env'] {
  const hosts = byProxy ? [`${proxy}:${PORTS.proxy}`] : members.map(({ address }) => `${address}:${PORTS.postgres}`)
  return {
    DATABASE_URL: `postgres://${NAME}@${hosts.join(',')}/${NAME}?sslmode=disable`,
    PGPASSWORD: passwords.application,
  }
}

/** Fills a store, and starts a node for each of the settings, all of which lead to that store. */
export async function startNodes(
  world: World,
  settings: [Store['env'], ...Store['env'][]],
): Promise<{ nodes: Server[]; store: Store }> {
  const store = fillStore(world, settings[0], APPLICATIONS)
  const nodes = await Promise.all(settings.map((env) => startServer(world, { ...store, env })))
  return { nodes, store }
}
