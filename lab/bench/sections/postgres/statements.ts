import { setTimeout as sleep } from 'node:timers/promises'
import type { Running } from '../../bench.ts'
import type { Turn } from '../../row.ts'
import type { Postgres } from '../../world/postgres.ts'
import { issueTokens } from '../../world/single-requests.ts'

/** A connection adds to PostgreSQL's statistics at the end of a statement, at most once in this time. */
const STATISTICS_INTERVAL_MS = 1000

/** Counts the statements of a node's database in the turns of a contender; each is a transaction of its own. */
export function countStatements(postgres: Postgres, { server, data }: Running) {
  const sums = { statements: 0, requests: 0 }
  let before = 0

  async function count(): Promise<number> {
    await sleep(STATISTICS_INTERVAL_MS * 1.1)
    // Uses the connection for reading and the one for writing.
    await issueTokens(server.port, data.applications[0], 1)
    const sql = 'SELECT xact_commit::int AS n FROM pg_stat_database WHERE datname = current_database()'
    return (await postgres.query(data.env.DATABASE_URL, sql))[0].n
  }

  return {
    inTurn: {
      async before() {
        before = await count()
      },
      async after({ groups }: Turn) {
        sums.statements += (await count()) - before
        sums.requests += groups.reduce((sum, { answered }) => sum + answered, 0)
      },
    },
    perRequest: () => sums.statements / sums.requests,
  }
}
