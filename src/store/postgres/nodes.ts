import { NODE_FORGOTTEN_MS, type ServerNode } from '../../domain/statistics.ts'
import type { Nodes } from '../../domain/store.ts'
import { toObjects } from '../shared/work.ts'
import type { Commands } from './commands.ts'

const COLUMNS = [
  ...(['id', 'name', 'version', 'startedAt', 'lastSeenAt'] as const),
  ...(['expected', 'serving', 'tokens', 'checks', 'refusals'] as const),
]

// Also deletes earlier runs of the node (same name, not seen since this one started) and nodes that were not seen for a day.
const recordNode = `
  WITH forgotten AS (
    DELETE FROM nodes
     WHERE id <> $1::uuid
       AND (last_seen_at < $11::bigint OR (name = $2 AND last_seen_at < $4::bigint))
  )
  INSERT INTO nodes (
           id, name, version, started_at, last_seen_at, workers_expected, workers_serving, tokens, checks, refusals)
  VALUES ($1::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      ON CONFLICT (id) DO UPDATE
     SET last_seen_at = excluded.last_seen_at,
         workers_expected = excluded.workers_expected,
         workers_serving = excluded.workers_serving,
         tokens = excluded.tokens,
         checks = excluded.checks,
         refusals = excluded.refusals`

const listNodes = `
  SELECT id::text, name, version, started_at, last_seen_at, workers_expected, workers_serving, tokens, checks, refusals
    FROM nodes
   ORDER BY last_seen_at DESC
   LIMIT $1`

/** The servers that share the database. Runs in the background, so that no request waits for it. */
export function createNodes({ askInBackground }: Commands): Nodes {
  return {
    async record({ id, name, version, startedAt, lastSeenAt, workers, lastMinute }) {
      const { expected, serving } = workers
      const { tokens, checks, refusals } = lastMinute
      const values = [id, name, version, startedAt, lastSeenAt, expected, serving, tokens, checks, refusals]
      await askInBackground(recordNode, [...values, lastSeenAt - NODE_FORGOTTEN_MS])
    },
    async list(limit) {
      type Row = Omit<ServerNode, 'workers' | 'lastMinute'> & ServerNode['workers'] & ServerNode['lastMinute']
      const rows = toObjects<Row>(await askInBackground(listNodes, [limit]), ...COLUMNS)
      return rows.map(({ expected, serving, tokens, checks, refusals, ...rest }) => ({
        ...rest,
        workers: { expected, serving },
        lastMinute: { tokens, checks, refusals },
      }))
    },
    remove: async (id) => void (await askInBackground('DELETE FROM nodes WHERE id = $1::uuid', [id])),
  }
}
