import type { Bench } from '../../bench.ts'
import { fillLive } from '../../world/fill-postgres.ts'
import type { Postgres } from '../../world/postgres.ts'
import { verifyRequest } from '../../world/requests.ts'

const CONNECTIONS = 64
const MANY = 20_000_000
const FEWER = 1_000_000
/** How many of them are checked. */
const CHECKED = 100_000

/** Checks among many live tokens and among fewer. */
export async function measureSizes(bench: Bench, postgres: Postgres) {
  const [many, fewer] = [bench.size(MANY, 20_000), bench.size(FEWER, 2000)]
  const checked = bench.size(CHECKED, 1000)
  const inMany = await filled(bench, postgres, many, checked)
  const inFewer = await filled(bench, postgres, fewer, checked)
  const rows = await bench.measure({
    verifyMany: { name: `verify (${inThousands(many)} tokens)`, ...inMany, base: 'verifyFewer' },
    verifyFewer: { name: `verify (${inThousands(fewer)} tokens)`, ...inFewer },
  })
  const notes = [`${inThousands(checked)} of the many tokens are checked, evenly spaced, in random order.`]
  return { rows, notes }
}

/** A node on a database with so many tokens, and the checks of some of them. */
async function filled(bench: Bench, postgres: Postgres, count: number, checked: number) {
  const data = await bench.postgresData(postgres)
  bench.step(`writes ${inThousands(count)} tokens`)
  const accessTokens = await fillLive({ postgres, url: data.env.DATABASE_URL }, count, checked)
  const server = await bench.serve(data)
  return { server, database: postgres, ...bench.load(CONNECTIONS, accessTokens.map(verifyRequest)) }
}

function inThousands(count: number): string {
  return count.toLocaleString('en')
}
