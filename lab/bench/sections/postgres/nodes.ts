import type { Bench, Running } from '../../bench.ts'
import type { Postgres } from '../../world/postgres.ts'
import { tokenRequest, verifyRequest } from '../../world/requests.ts'
import { issueTokens } from '../../world/single-requests.ts'
import { together } from '../../world/together.ts'
import { countStatements } from './statements.ts'

const CONNECTIONS = 64
const BOTH = 2 * CONNECTIONS

/** One node and two on one database, beside a server with SQLite. */
export async function measureNodes(bench: Bench, postgres: Postgres) {
  const data = await bench.postgresData(postgres)
  const one = { data, server: await bench.serve(data) }
  const two = together([one.server, await bench.serve(data)])
  const onFile = bench.data('sqlite')
  const sqlite = { data: onFile, server: await bench.serve(onFile) }

  const { issue, verify } = await loadsOf(bench, one)
  const onSqlite = await loadsOf(bench, sqlite)
  const tokens = countStatements(postgres, one)
  const checks = countStatements(postgres, one)
  const node = { server: one.server, database: postgres }
  const nodes = { server: two, database: postgres }
  const rows = await bench.measure({
    issue: { name: 'issue', ...node, ...issue(CONNECTIONS), base: 'issueSqlite', ...tokens.inTurn },
    issueSqlite: { name: 'issue (SQLite)', server: sqlite.server, ...onSqlite.issue(CONNECTIONS) },
    issueTwo: { name: 'issue (2 nodes)', ...nodes, ...issue(BOTH), base: 'issue' },
    issueShared: { name: 'issue (2 nodes, 64 in all)', ...nodes, ...issue(CONNECTIONS), base: 'issue' },
    verify: { name: 'verify', ...node, ...verify(CONNECTIONS), base: 'verifySqlite', ...checks.inTurn },
    verifySqlite: { name: 'verify (SQLite)', server: sqlite.server, ...onSqlite.verify(CONNECTIONS) },
    verifyTwo: { name: 'verify (2 nodes)', ...nodes, ...verify(BOTH), base: 'verify' },
    verifyShared: { name: 'verify (2 nodes, 64 in all)', ...nodes, ...verify(CONNECTIONS), base: 'verify' },
  })
  const figures = { statementsPerToken: tokens.perRequest(), statementsPerCheck: checks.perRequest() }
  const { statementsPerToken, statementsPerCheck } = figures
  const notes = [
    `Requests per statement, one node: ${rounded(1 / statementsPerToken)} tokens, ${rounded(1 / statementsPerCheck)} checks.`,
  ]
  return { rows, figures, notes }
}

/** What to ask a server, by the number of connections. */
async function loadsOf(bench: Bench, { server, data }: Running) {
  const count = bench.size(10_000, 1000)
  bench.step(`issues ${count} tokens`)
  const accessTokens = await issueTokens(server.port, data.applications[0], count)
  return {
    issue: (connections: number) => bench.load(connections, [tokenRequest(data.applications[0])]),
    verify: (connections: number) => bench.load(connections, accessTokens.map(verifyRequest)),
  }
}

function rounded(number: number): string {
  return number.toFixed(0)
}
