import type { EndingSecret } from '../../domain/statistics.ts'
import type { Figures } from '../../domain/store.ts'
import type { Commands } from './commands.ts'
import * as sql from './statements/figures.ts'

/** What is measured of the store, in PostgreSQL. */
export function createFigures({ askInBackground, askNumberInBackground }: Commands): Figures {
  /** The number in the only row, if there is one. */
  async function numberOf(statement: string): Promise<number | undefined> {
    const [row] = await askInBackground<[number]>(statement)
    return row?.[0]
  }

  return {
    size: async () => ({ database: await askNumberInBackground(sql.databaseSize), log: undefined }),
    oldestTokenAt: () => numberOf(sql.oldestTokenAt),
    countEndingSecrets: (now, before) => askNumberInBackground(sql.countEndingSecrets, [now, before]),

    async listEndingSecrets(now, before, limit) {
      type Row = [kind: EndingSecret['kind'], id: string, name: string, endsAt: number]
      const rows = await askInBackground<Row>(sql.listEndingSecrets, [now, before, limit])
      return rows.map(([kind, id, name, endsAt]) => ({ kind, id, name, endsAt }))
    },

    async countLiveTokens(fromId, limit) {
      const [row] = await askInBackground<[all: number, live: number]>(sql.countLiveTokens, [
        fromId.toString('hex'),
        limit + 1,
      ])
      const [all, live] = row as [number, number]
      return all > limit ? undefined : live
    },

    countIssued: (hour) => askNumberInBackground(sql.countIssued, [hour]),
    lastBackupAt: () => numberOf(sql.lastBackupAt),
  }
}
