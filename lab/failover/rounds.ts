import { join } from 'node:path'
import { startCluster } from './cluster/cluster.ts'
import { startProbe } from './cluster/probe.ts'
import { auditNodes, type Losses } from './load/audit.ts'
import { createDatabase, settingsFor, startNodes } from './nodes/nodes.ts'
import type { Options } from './options.ts'
import { roundText } from './report.ts'
import { type Round, runRound, type Scene } from './round.ts'
import type { World } from './world.ts'

/** Younger tokens are still valid: they live for an hour. Milliseconds. */
const AUDITED_AGE_MS = 50 * 60_000

export interface Rounds {
  rounds: Round[]
  /** What was lost, at the end, of all that was acknowledged in any round. */
  lostAtEnd: Losses
  /** How many tokens were audited at the end. */
  audited: number
  /** Why the run ended before all faults, if it did. */
  failure?: Error
}

/** Starts a cluster and its nodes, causes one fault after another, and audits everything once more at the end. */
export async function runRounds(world: World, { rounds: faults, ttl, withProxy }: Options): Promise<Rounds> {
  const cluster = await startCluster(join(world.folder, 'cluster'), { ttl, withProxy, cleanup: world.cleanup })
  world.step('the cluster is healthy')
  await createDatabase(cluster)
  const direct = settingsFor(cluster.layout, { byProxy: false })
  const last = settingsFor(cluster.layout, { byProxy: withProxy })
  const { nodes, store } = await startNodes(world, [direct, direct, last])
  world.step(`${nodes.length} nodes are ready`)
  const probe = await startProbe(cluster)
  const scene: Scene = {
    cluster,
    probe,
    nodes,
    applications: store.applications,
    ledger: [],
    nodeByProxy: withProxy ? nodes.length - 1 : undefined,
  }

  const rounds: Round[] = []
  try {
    for (const fault of faults) {
      const round = await runRound(world, fault, scene)
      rounds.push(round)
      world.step(`${rounds.length} of ${faults.length}: ${roundText(round)}`)
    }
  } catch (error) {
    // The rounds before it are still reported.
    return { rounds, failure: error as Error, lostAtEnd: { tokens: 0, revocations: 0 }, audited: 0 }
  }

  const young = scene.ledger.filter(({ issuedAt }) => performance.now() - issuedAt < AUDITED_AGE_MS)
  const ports = nodes.map(({ port }) => port)
  const lostAtEnd = await auditNodes(ports, young)
  probe.stop()
  await Promise.all(nodes.map((node) => node.stop()))
  return { rounds, lostAtEnd, audited: young.length }
}
