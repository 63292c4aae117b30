import { setTimeout as sleep } from 'node:timers/promises'
import type { Credentials } from '../bench/world/checkout.ts'
import type { Server } from '../trial/world/server.ts'
import { until } from '../trial/world/until.ts'
import type { Cluster } from './cluster/cluster.ts'
import { PORTS } from './cluster/layout.ts'
import type { Member } from './cluster/member.ts'
import type { Probe, Write } from './cluster/probe.ts'
import type { Fault, Incident } from './faults.ts'
import { type Figures, figuresOf, isUnexpected } from './figures.ts'
import { auditNodes, type Losses } from './load/audit.ts'
import type { Entry, Wrong } from './load/ledger.ts'
import { type Answer, type Load, startLoad } from './load/load.ts'
import { watchConnections } from './nodes/connections.ts'
import type { World } from './world.ts'

/** Load before a fault, and after every node issues tokens again, milliseconds. */
const BEFORE_MS = { from: 2000, to: 5000 }
const AFTER_MS = 3000

/** How long the cluster may be without a primary, and then a node without a token, seconds. */
const CLUSTER_SECONDS = 180
const NODE_SECONDS = 60

/** What a round needs. */
export interface Scene {
  cluster: Cluster
  probe: Probe
  nodes: Server[]
  /** Which of them reaches the cluster through HAProxy, if one does. */
  nodeByProxy: number | undefined
  applications: Credentials[]
  /** All that was acknowledged so far, in all rounds. */
  ledger: Entry[]
}

/** One fault, and what was found. */
export interface Round extends Figures, Wrong {
  fault: Fault
  /** What clients of the node behind HAProxy saw. The other figures are those of the other nodes. */
  byProxy: Figures | undefined
  /** The most connections of a node to the cluster. */
  connections: number
  lost: Losses
}

/** Causes a fault under load, waits until the cluster is healthy again, and audits all that was acknowledged meanwhile. */
export async function runRound(world: World, fault: Fault, scene: Scene): Promise<Round> {
  const { cluster, nodes, ledger } = scene
  const startedAt = performance.now()
  const ports = nodes.map(({ port }) => port)
  const connections = watchConnections(
    nodes.map(({ pid }) => pid),
    PORTS.postgres,
  )
  const load = startLoad(ports, { ...scene, random: world.random })
  await sleep(world.random.between(BEFORE_MS.from, BEFORE_MS.to))

  const incident = await fault.cause(cluster, (await cluster.leader()) as Member)
  const end = await untilTokens(scene, load, incident)
  await sleep(AFTER_MS)
  incident.repair()
  await cluster.healthy(CLUSTER_SECONDS)
  await sleep(AFTER_MS)
  await load.stop()

  reportUnexpected(world, load, incident)
  const isOfThisRound = ({ issuedAt, revokeSentAt = 0 }: Entry) => Math.max(issuedAt, revokeSentAt) > startedAt
  const lost = await auditNodes(ports, ledger.filter(isOfThisRound))
  return { fault, ...figuresByPath(scene, load, incident, end), ...load.wrong, connections: connections.stop(), lost }
}

/** Waits for the first token of every node. Resolves to the write that shows that the cluster was back. */
async function untilTokens({ probe, nodes }: Scene, load: Load, { at, endsIt, what }: Incident) {
  const firstWrite = () => probe.writes.find((write) => write.endedAt > at && endsIt(write))
  await until(() => firstWrite() !== undefined, `a write (${what})`, CLUSTER_SECONDS)
  const end = firstWrite() as NonNullable<ReturnType<typeof firstWrite>>
  const hasToken = (node: number) =>
    load.answers.some(
      (one) => one.node === node && one.kind === 'token' && one.status === 200 && one.sentAt > end.endedAt,
    )
  await until(() => nodes.every((_, node) => hasToken(node)), `a token from every node (${what})`, NODE_SECONDS)
  return end
}

function reportUnexpected({ step }: World, { answers }: Load, { at }: Incident): void {
  for (const { node, kind, sentAt, answeredAt, status } of answers.filter(isUnexpected)) {
    const [from, took] = [sentAt - at, answeredAt - sentAt].map((milliseconds) => (milliseconds / 1000).toFixed(2))
    step(`${kind} at node ${node}, ${from} s after the fault: status ${status} after ${took} s`)
  }
}

function figuresByPath({ nodeByProxy }: Scene, { answers }: Load, { at, from }: Incident, end: Write) {
  const figures = (some: Answer[]) => figuresOf(some, { at, from, end })
  return {
    ...figures(answers.filter(({ node }) => node !== nodeByProxy)),
    byProxy: nodeByProxy === undefined ? undefined : figures(answers.filter(({ node }) => node === nodeByProxy)),
  }
}
