import type { Store } from '../../domain/store.ts'
import { firstTokenIdAt } from '../../domain/token.ts'
import { hourOf } from '../../domain/usage.ts'
import { OLD_ROWS, type OldRows } from '../shared/statements/purge.ts'
import { singleValue } from '../shared/work.ts'
import type { Commands } from './commands.ts'

// Deletes by ctid, which costs a quarter of a join by key. Locked rows are skipped: the next purge deletes them.
export const purgeRows = ([table, , old]: OldRows) => `
  WITH deleted AS (
    DELETE FROM ${table}
     WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${table} WHERE ${old} LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING 1
  )
  SELECT count(*) FROM deleted`

// Takes a lock, so that only one node purges at a time. The commit waits neither for the disk nor for a standby.
const purgeTokens = purgeRows([
  'tokens',
  'id',
  `id < $1::uuid AND (SELECT pg_try_advisory_xact_lock(7033017, 2))
   AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off' ORDER BY id`,
])

export function createPurge({ ask, askInBackground }: Commands): Store['purge'] {
  return async (what, before, limit) => {
    if (what === 'tokens') return singleValue(ask(purgeTokens, [firstTokenIdAt(before).toString('hex'), limit]))
    const from = what === 'token counts' ? hourOf(before) : before
    let count = 0
    for (const rows of OLD_ROWS[what]) {
      count += await singleValue<number>(askInBackground(purgeRows(rows), [from, limit]))
    }
    return count
  }
}
