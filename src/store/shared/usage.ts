import type { Usage } from '../../domain/store.ts'
import { countKey, type SecretUse, type SpanCounts, type TokenCount, type TokenUse } from '../../domain/usage.ts'
import * as sql from './statements/usage.ts'
import { ask, type Database, namesJson, rowsJson, toObjects } from './work.ts'

/** How often and when applications, suites and secrets were used. */
export function createUsage({ ask: read, askInBackground, transactInBackground, lockOwners }: Database): Usage {
  const recordApplicationUses = sql.recordUses('application', 'last_token_at', lockOwners)
  const recordSecretUses = sql.recordUses('secret', 'last_used_at', lockOwners)

  return {
    async addTokenCounts(changes) {
      const uses = changes.map(({ applicationKey, lastTokenAt }) => ({ id: applicationKey, at: lastTokenAt }))
      const rows = await transactInBackground(function* () {
        yield* ask(recordApplicationUses, [rowsJson(uses)])
        return yield* ask(sql.addTokenCounts, [rowsJson(changes)])
      })
      const counts = toObjects<TokenCount>(rows, 'applicationKey', 'hour', 'issued', 'refused')
      const sums = new Map(counts.map((sum) => [countKey(sum), sum]))
      return changes.map((change) => sums.get(countKey(change)) as TokenCount)
    },

    async listTokenCounts(keys, hour) {
      const rows = await read(sql.listTokenCounts, [JSON.stringify(keys), hour])
      return toObjects<TokenUse>(rows, 'applicationKey', 'hour', 'issued', 'refused', 'lastTokenAt')
    },

    async recordSecretUses(uses) {
      const rows = uses.map(({ secretId, lastUsedAt }) => ({ id: secretId, at: lastUsedAt }))
      await transactInBackground(() => ask(recordSecretUses, [rowsJson(rows)]))
    },

    async listSecretUses(ids) {
      const rows = await read(sql.listSecretUses, [JSON.stringify(ids)])
      return toObjects<SecretUse>(rows, 'secretId', 'lastUsedAt')
    },

    addUsage: async (counts, at) => void (await transactInBackground(() => ask(sql.addUsage, [rowsJson(counts), at]))),

    async listUsage(clientIds, span, beginnings) {
      const values = [namesJson(clientIds), span, ...beginnings]
      const rows = await askInBackground(sql.listUsage(beginnings.length), values)
      return toObjects<SpanCounts>(rows, 'clientId', 'since', 'tokens', 'checks', 'refusals')
    },
  }
}
