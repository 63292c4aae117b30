import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Cleanup } from '../../trial/trial.ts'
import { writeProxyConfiguration } from './configuration.ts'
import { endCluster } from './end.ts'
import { type Layout, PORTS, planCluster } from './layout.ts'
import { createMember, type Member } from './member.ts'
import { ask, rolesSeenBy, switchOver } from './patroni.ts'
import { startProgram } from './process.ts'

const POLL_MS = 100
const START_SECONDS = 120

export type Cluster = Awaited<ReturnType<typeof startCluster>>

/** Starts etcd, three PostgreSQL servers under Patroni and, if asked for, HAProxy, and waits until all of it is healthy. */
export async function startCluster(
  folder: string,
  { ttl, withProxy, cleanup }: { ttl: number; withProxy: boolean; cleanup: Cleanup },
) {
  const layout = planCluster(folder, ttl)
  const members = layout.members.map((member) => createMember(layout, member))
  const programs = [startProgram(layout, 'etcd', 'etcd', etcdArguments(layout))]
  cleanup.add(() => endCluster(members, programs))
  // A Patroni that finds no etcd sleeps for five seconds.
  await eventually(async () => (await ask(`http://${layout.etcd}:${PORTS.etcd}/health`)) !== undefined, 'etcd')
  for (const member of members) member.start()
  if (withProxy)
    programs.push(startProgram(layout, 'haproxy', 'haproxy', ['-db', '-f', writeProxyConfiguration(layout)]))

  /** The member that leads, according to the first one that answers. Undefined while there is none. */
  async function leader(): Promise<Member | undefined> {
    const all = await Promise.all(members.map(rolesSeenBy))
    const roles = all.find(({ size }) => size > 0)
    return members.find(({ name }) => roles?.get(name) === 'leader')
  }

  /** Whether all members report a leader, a synchronous standby and another standby, and both standbys stream. */
  async function isHealthy(): Promise<boolean> {
    const all = await Promise.all(members.map(rolesSeenBy))
    const isWhole = all.every((roles) => [...roles.values()].sort().join() === 'leader,replica,sync_standby')
    return isWhole && (await haveStandbys((await leader()) as Member))
  }

  async function haveStandbys(primary: Member): Promise<boolean> {
    const { rows } = await query(primary, 'SELECT sync_state FROM pg_stat_replication WHERE state = $1', ['streaming'])
    return rows.length === 2 && rows.some(({ sync_state }) => sync_state === 'sync')
  }

  /** Runs a statement on a member as superuser, on a connection of its own. */
  async function query(member: Member, statement: string, values: unknown[] = []): Promise<pg.QueryResult> {
    const client = await connect(member)
    try {
      return await client.query(statement, values)
    } finally {
      await client.end()
    }
  }

  async function connect({ address }: Member): Promise<pg.Client> {
    const client = new pg.Client({
      host: address,
      port: PORTS.postgres,
      user: 'postgres',
      password: layout.passwords.superuser,
      database: 'postgres',
      connectionTimeoutMillis: 1000,
    })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** Resolves when the cluster is healthy. Rejects if that takes longer than this. */
  const healthy = (seconds: number) => eventually(isHealthy, 'a healthy cluster', seconds)
  await healthy(START_SECONDS)
  return {
    members,
    layout,
    connect,
    query,
    leader,
    healthy,
    switchOver: (from: Member) => switchOver(layout, from),
  }
}

function etcdArguments({ etcd, folder }: Layout): string[] {
  const [clients, peers] = [`http://${etcd}:${PORTS.etcd}`, `http://${etcd}:${PORTS.etcdPeer}`]
  return [
    ...['--name', 'etcd', '--data-dir', `${folder}/etcd`, '--enable-v2=true', '--log-level', 'warn'],
    ...['--logger', 'zap', '--listen-client-urls', clients, '--advertise-client-urls', clients],
    ...['--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers, '--initial-cluster', `etcd=${peers}`],
  ]
}

/** Resolves when the condition is true. An error that it throws counts as false. */
async function eventually(condition: () => Promise<boolean>, what: string, seconds = START_SECONDS): Promise<void> {
  const deadline = performance.now() + seconds * 1000
  while (!(await condition().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`Not within ${seconds} s: ${what}.`)
    await sleep(POLL_MS)
  }
}
