import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster/cluster.ts'
import type { Member } from './cluster/member.ts'
import type { Write } from './cluster/probe.ts'

/** How long both standbys are down, milliseconds. */
const WITHOUT_STANDBYS_MS = 8000

/** What was done to a cluster. Times are of the monotonic clock, milliseconds. */
export interface Incident {
  /** What was done, in words. */
  what: string
  /** From when on tokens may be missing. */
  at: number
  /** From when on the cluster can be back. */
  from: number
  /** Whether this write shows that the cluster takes writes again. */
  endsIt: (write: Write) => boolean
  /** Starts or continues what is still down. */
  repair: () => void
}

export interface Fault {
  name: string
  title: string
  /** How often a full run does it. */
  times: number
  cause: (cluster: Cluster, primary: Member) => Promise<Incident>
}

export const faults: Fault[] = [
  {
    name: 'kill',
    title: 'kill -9 of the primary and its Patroni',
    times: 20,
    async cause(_, primary) {
      const at = performance.now()
      primary.kill()
      return { what: `${primary.name} killed`, at, from: at, endsIt: elsewhere(primary), repair: primary.start }
    },
  },
  {
    name: 'stop',
    title: 'SIGSTOP of the PostgreSQL of the primary, SIGCONT when another one leads',
    times: 3,
    async cause(_, primary) {
      const at = performance.now()
      primary.freeze()
      return { what: `${primary.name} stopped`, at, from: at, endsIt: elsewhere(primary), repair: primary.thaw }
    },
  },
  {
    name: 'switchover',
    title: 'a planned switchover by patronictl',
    times: 5,
    async cause(cluster, primary) {
      const at = performance.now()
      await cluster.switchOver(primary)
      return { what: `switched over from ${primary.name}`, at, from: at, endsIt: elsewhere(primary), repair: () => {} }
    },
  },
  {
    name: 'standbys',
    title: 'kill -9 of both standbys, back after eight seconds',
    times: 3,
    async cause({ members }, primary) {
      const at = performance.now()
      const standbys = members.filter((member) => member !== primary)
      for (const standby of standbys) standby.kill()
      await sleep(WITHOUT_STANDBYS_MS)
      const from = performance.now()
      for (const standby of standbys) standby.start()
      return { what: `${primary.name} alone`, at, from, endsIt: ({ endedAt }) => endedAt > from, repair: () => {} }
    },
  },
]

function elsewhere(primary: Member): Incident['endsIt'] {
  return ({ member }) => member !== primary
}
