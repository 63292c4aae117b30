import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from './cluster.ts'
import type { Member } from './member.ts'

const PAUSE_MS = 20

/** A successful write to a member, with times of the monotonic clock, milliseconds. */
export interface Write {
  member: Member
  startedAt: number
  endedAt: number
}

export type Probe = Awaited<ReturnType<typeof startProbe>>

/** Constantly tests whether each member takes writes: shows when the cluster is back, whatever the nodes do. */
export async function startProbe({ members, connect, query, leader }: Cluster) {
  const primary = (await leader()) as Member
  await query(primary, 'CREATE TABLE probe (writes bigint)')
  await query(primary, 'INSERT INTO probe VALUES (0)')
  const writes: Write[] = []
  let isOver = false

  async function watch(member: Member): Promise<void> {
    while (!isOver) {
      await session(member).catch(() => {})
      await sleep(PAUSE_MS)
    }
  }

  /** Writes until the connection breaks. A write that waits for a standby has no timeout. */
  async function session(member: Member): Promise<void> {
    const client = await connect(member)
    let isCancelled = false
    client.on('notice', () => {
      isCancelled = true
    })
    try {
      while (!isOver) {
        const startedAt = performance.now()
        const done = await client.query('UPDATE probe SET writes = writes + 1').then(
          () => !isCancelled,
          // Read only: a standby, which may become the primary on this very connection.
          (error) => (error.code === '25006' ? false : Promise.reject(error)),
        )
        if (done) writes.push({ member, startedAt, endedAt: performance.now() })
        await sleep(PAUSE_MS)
      }
    } finally {
      client.end().catch(() => {})
    }
  }

  for (const member of members) void watch(member)
  return {
    writes: writes as readonly Write[],
    stop(): void {
      isOver = true
    },
  }
}
