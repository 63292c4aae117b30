import type { EndingSecret } from '../../domain/statistics.ts'
import type { Figures } from '../../domain/store.ts'
import * as sql from './statements/figures.ts'
import { type Database, singleValue, toObjects } from './work.ts'

/** The figures that every store measures in the same way, in the background. */
export function createFigures({ askInBackground }: Database): Omit<Figures, 'size' | 'countLiveTokens'> {
  return {
    oldestTokenAt: () => singleValue(askInBackground(sql.oldestTokenAt)),
    countEndingSecrets: (now, before) => singleValue(askInBackground(sql.countEndingSecrets, [now, before])),
    async listEndingSecrets(now, before, limit) {
      const rows = await askInBackground(sql.listEndingSecrets, [now, before, limit])
      return toObjects<EndingSecret>(rows, 'kind', 'id', 'name', 'endsAt')
    },
    lastBackupAt: () => singleValue(askInBackground(sql.lastBackupAt)),
  }
}
