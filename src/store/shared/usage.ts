import type { UsageCounts } from '../../domain/store.ts'
import type { SpanCounts } from '../../domain/usage.ts'
import * as sql from './statements/usage.ts'
import { ask, type Database, namesJson, rowsJson, toObjects } from './work.ts'

/** What applications and suites did. */
export function createUsageCounts({ askInBackground, transactInBackground }: Database): UsageCounts {
  return {
    addUsage: async (counts, at) => void (await transactInBackground(() => ask(sql.addUsage, [rowsJson(counts), at]))),

    async listUsage(clientIds, span, beginnings) {
      const values = [namesJson(clientIds), span, ...beginnings]
      const rows = await askInBackground(sql.listUsage(beginnings.length), values)
      return toObjects<SpanCounts>(rows, 'clientId', 'since', 'tokens', 'checks', 'refusals')
    },
  }
}
