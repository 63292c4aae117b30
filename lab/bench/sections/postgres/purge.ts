import { setTimeout as sleep } from 'node:timers/promises'
import type { Bench } from '../../bench.ts'
import { countExpired, fillExpired } from '../../world/fill-postgres.ts'
import type { Postgres } from '../../world/postgres.ts'
import { tokenRequest } from '../../world/requests.ts'

const CONNECTIONS = 64

/** More than the purge deletes, as it pauses between its batches: it must not end before the last round. */
const EXPIRED_PER_SECOND = 200_000
const MINIMUM = 400_000

/** Longer than the pause after which a purge that failed is tried again. */
const GOES_ON_WITHIN_MS = 15_000

/** Issuing while expired tokens are purged, and without. */
export async function measurePurge(bench: Bench, postgres: Postgres) {
  const full = await bench.postgresData(postgres)
  const clean = await bench.postgresData(postgres)
  const place = { postgres, url: full.env.DATABASE_URL }
  const count = Math.max(MINIMUM, bench.loadSeconds * EXPIRED_PER_SECOND)
  bench.step(`writes ${count} expired tokens`)
  await fillExpired(place, count)
  const server = await bench.serve(full)
  server.signal('SIGSTOP')
  const left = [count]
  const turns = { began: { left: count, at: 0 }, deleted: 0, milliseconds: 0 }
  const rows = await bench.measure({
    purging: {
      name: 'issue while purging',
      server,
      database: postgres,
      ...bench.load(CONNECTIONS, [tokenRequest(full.applications[0])]),
      base: 'notPurging',
      // Suspended outside of its turns: otherwise it would purge during the others'.
      async before() {
        server.signal('SIGCONT')
        turns.began = await fewerExpired()
      },
      async after() {
        server.signal('SIGSTOP')
        const ended = await fewerExpired()
        turns.deleted += turns.began.left - ended.left
        turns.milliseconds += ended.at - turns.began.at
      },
    },
    notPurging: {
      name: 'issue without purging',
      server: await bench.serve(clean),
      database: postgres,
      ...bench.load(CONNECTIONS, [tokenRequest(clean.applications[0])]),
    },
  })

  /** Waits until there are fewer expired tokens than before. Resolves to how many, and when. */
  async function fewerExpired(): Promise<{ left: number; at: number }> {
    const before = left.at(-1) as number
    const giveUpAt = performance.now() + GOES_ON_WITHIN_MS
    for (let at = performance.now(); at < giveUpAt; at = performance.now()) {
      const now = await countExpired(place)
      if (now < before) {
        left.push(now)
        return { left: now, at }
      }
      await sleep(100)
    }
    throw new Error(`the purge ended before the last round, or never began: ${before} expired tokens`)
  }

  const purgedPerSecond = (1000 * turns.deleted) / turns.milliseconds
  return {
    rows,
    figures: { purgedPerSecond },
    notes: [
      `${Math.round(purgedPerSecond).toLocaleString('en')} expired tokens deleted a second.`,
      `Expired tokens before and after the turns of the purging node: ${left.join(', ')}.`,
    ],
  }
}
