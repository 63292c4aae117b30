import type { ApplicationCounts, UsageCounts } from '../../domain/store.ts'
import { beginningsOf, SPANS, type SpanCounts } from '../../domain/usage.ts'
import * as sql from './statements/usage.ts'
import { ask, type Database, namesJson, rowsJson, toObjects, type Work } from './work.ts'

/** What applications and suites did. */
export function createUsageCounts({ askInBackground, transactInBackground }: Database): UsageCounts {
  return {
    addUsage: (counts, at) => transactInBackground(() => ask(sql.addUsage, [rowsJson(counts), at])).then(() => {}),

    async listUsage(clientIds, span, beginnings) {
      const values = [namesJson(clientIds), span, ...beginnings]
      const rows = await askInBackground(sql.listUsage(beginnings.length), values)
      return toObjects<SpanCounts>(rows, 'clientId', 'since', 'tokens', 'checks', 'refusals')
    },

    async pageOfUsage(span, { since, key }, limit) {
      const rows = await askInBackground(sql.pageOfUsage, [span, since, key ?? 0, limit])
      return toObjects<ApplicationCounts>(rows, 'since', 'key', 'tokens', 'checks', 'refusals')
    },
  }
}

/** Deletes the counts of a client that is about to be removed. */
export function* deleteUsage(clientId: string, now: number): Work<void> {
  for (const { span, kept } of SPANS) {
    const beginnings = beginningsOf({ span, count: kept / span + 1 }, now)
    yield* ask(sql.deleteUsage(beginnings.length), [clientId, span, ...beginnings])
  }
}
