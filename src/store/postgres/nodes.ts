import { NODE_FORGOTTEN_MS, type ServerNode } from '../../domain/statistics.ts'
import type { Nodes } from '../../domain/store.ts'
import type { Commands } from './commands.ts'
import * as sql from './statements/nodes.ts'

/** The servers that share the database. Runs in the background, so that no request waits for it. */
export function createNodes({ askInBackground }: Commands): Nodes {
  return {
    async record({ id, name, version, startedAt, lastSeenAt, workers, lastMinute }) {
      const { expected, serving } = workers
      const { tokens, checks, refusals } = lastMinute
      const values = [id, name, version, startedAt, lastSeenAt, expected, serving, tokens, checks, refusals]
      await askInBackground(sql.recordNode, [...values, lastSeenAt - NODE_FORGOTTEN_MS])
    },
    list: async (limit) => (await askInBackground<Row>(sql.listNodes, [limit])).map(toNode),
    remove: async (id) => void (await askInBackground(sql.deleteNode, [id])),
  }
}

type Row = [
  id: string,
  name: string,
  version: string,
  startedAt: number,
  lastSeenAt: number,
  expected: number,
  serving: number,
  tokens: number,
  checks: number,
  refusals: number,
]

function toNode(row: Row): ServerNode {
  const [id, name, version, startedAt, lastSeenAt, expected, serving, tokens, checks, refusals] = row
  const lastMinute = { tokens, checks, refusals }
  return { id, name, version, startedAt, lastSeenAt, workers: { expected, serving }, lastMinute }
}
