import { freePort } from '../../../test/support/free-port.ts'
import type { Credentials } from '../../bench/world/checkout.ts'
import type { World } from '../trial.ts'
import { fillStore } from '../world/data.ts'
import { addOperator, callApi } from '../world/operator.ts'
import type { Postgres } from '../world/postgres.ts'
import { type Server, startServer } from '../world/server.ts'

/** The workers of each node. */
const NODES = ['1', '2', '1']
const APPLICATIONS = 8

export type Cluster = Awaited<ReturnType<typeof openCluster>>

/** Starts three nodes on a PostgreSQL server, each with an admin listener. */
export async function openCluster(world: World, postgres: Postgres) {
  const store = fillStore(world, { DATABASE_URL: await postgres.createDatabase() }, APPLICATIONS)
  const adminKey = await addOperator(store, 'anna', 'admin')
  const nodes: (Server & { adminPort: number })[] = []
  for (const workers of NODES) {
    const adminPort = await freePort()
    store.env.ADMIN_ADDRESS = `127.0.0.1:${adminPort}`
    nodes.push({ ...(await startServer(world, store, { WORKERS: workers, HANDOVER: 'on' })), adminPort })
  }

  /** Calls the administration API of any node. */
  const call = (line: string, content?: object) => callApi(world.random.pick(nodes).adminPort, adminKey, line, content)

  return {
    world,
    postgres,
    store,
    adminKey,
    nodes,
    ports: nodes.map(({ port }) => port),
    call,
    register: (name: string): Promise<Credentials> =>
      call('POST /applications', { name, developer_email: 'dev@partner.example', suites: ['store'] }),
  }
}
