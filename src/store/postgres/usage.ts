import type { ApplicationKey } from '../../domain/application.ts'
import type { Usage } from '../../domain/store.ts'
import type { TokenCount } from '../../domain/usage.ts'
import type { Commands } from './commands.ts'
import * as sql from './statements/tokens.ts'
import { arrayOf } from './values.ts'

type CountRow = [applicationKey: ApplicationKey, hour: number, issued: number, refused: number]

/** What is known of use, in PostgreSQL. */
export function createUsage({ ask, inTransaction }: Commands): Usage {
  return {
    async addTokenCounts(changes) {
      const keys = arrayOf(changes.map(({ applicationKey }) => applicationKey))
      const rows = await inTransaction(async (ask) => {
        await ask(sql.recordApplicationUses, [keys, arrayOf(changes.map(({ lastTokenAt }) => lastTokenAt))])
        return ask<CountRow>(sql.addTokenCounts, [
          arrayOf(changes.map(({ hour }) => hour)),
          keys,
          arrayOf(changes.map(({ issued }) => issued)),
          arrayOf(changes.map(({ refused }) => refused)),
        ])
      })
      const sums = new Map(rows.map(toCount).map((sum) => [nameOf(sum), sum]))
      return changes.map((change) => sums.get(nameOf(change)) as TokenCount)
    },

    listTokenCounts: async (keys, hours) =>
      (await ask<CountRow>(sql.listTokenCounts, [arrayOf(keys), arrayOf(hours)])).map(toCount),

    async listApplicationUses(keys) {
      const rows = await ask<[ApplicationKey, number]>(sql.listApplicationUses, [arrayOf(keys)])
      return rows.map(([applicationKey, lastTokenAt]) => ({ applicationKey, lastTokenAt }))
    },

    async recordSecretUses(uses) {
      const secretIds = arrayOf(uses.map(({ secretId }) => secretId))
      const times = arrayOf(uses.map(({ lastUsedAt }) => lastUsedAt))
      await inTransaction((ask) => ask(sql.recordSecretUses, [secretIds, times]))
    },

    async listSecretUses(secretIds) {
      const rows = await ask<[secretId: number, lastUsedAt: number]>(sql.listSecretUses, [arrayOf(secretIds)])
      return rows.map(([secretId, lastUsedAt]) => ({ secretId, lastUsedAt }))
    },
  }
}

function nameOf({ hour, applicationKey }: Pick<TokenCount, 'hour' | 'applicationKey'>): string {
  return `${hour} ${applicationKey}`
}

function toCount([applicationKey, hour, issued, refused]: CountRow): TokenCount {
  return { applicationKey, hour, issued, refused }
}
