import type { UsageCounts } from '../../domain/store.ts'
import { beginningsOf, SPANS, type SpanCounts } from '../../domain/usage.ts'
import * as sql from './statements/usage.ts'
import { ask, type Database, namesJson, rowsJson, toObjects, type Work } from './work.ts'

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

/** Deletes the counts of a client that is about to be removed, also those of a node whose clock is ahead. */
export function* deleteUsage(clientId: string, now: number): Work<void> {
  for (const { span, kept } of SPANS) {
    const beginnings = beginningsOf({ span, count: kept / span + 2 }, now + span)
    yield* ask(sql.deleteUsage(beginnings.length), [clientId, span, ...beginnings])
  }
}
