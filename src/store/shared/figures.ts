import type { EndingSecret } from '../../domain/statistics.ts'
import type { Figures } from '../../domain/store.ts'
import * as sql from './statements/figures.ts'
import type { Database } from './work.ts'

/** What is measured of every store in the same way, in the background. */
export function createFigures({ askInBackground }: Database): Omit<Figures, 'size' | 'countLiveTokens'> {
  /** The number in the only row, if there is one. */
  async function numberOf(statement: string, values: unknown[] = []): Promise<number | undefined> {
    const [row] = await askInBackground<[number]>(statement, values)
    return row?.[0]
  }

  return {
    oldestTokenAt: () => numberOf(sql.oldestTokenAt),
    countEndingSecrets: (now, before) => numberOf(sql.countEndingSecrets, [now, before]) as Promise<number>,
    async listEndingSecrets(now, before, limit) {
      type Row = [kind: EndingSecret['kind'], id: string, name: string, endsAt: number]
      const rows = await askInBackground<Row>(sql.listEndingSecrets, [now, before, limit])
      return rows.map(([kind, id, name, endsAt]) => ({ kind, id, name, endsAt }))
    },
    countIssued: (hour) => numberOf(sql.countIssued, [hour]) as Promise<number>,
    lastBackupAt: () => numberOf(sql.lastBackupAt),
  }
}
