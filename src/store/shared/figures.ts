import type { EndingSecret } from '../../domain/statistics.ts'
import type { Figures } from '../../domain/store.ts'
import { DAY } from '../../domain/usage.ts'
import * as sql from './statements/figures.ts'
import { type Database, toObjects } from './work.ts'

type Row = [oldestTokenAt: number | null, lastBackupAt: number | null, inADay: number, inAWeek: number]

/** The figures that every store measures in the same way, in the background. */
export function createFigures({ askInBackground, size }: Database): Omit<Figures, 'countLiveTokens'> {
  return {
    async measure(now) {
      const [row] = await askInBackground<Row>(sql.measure, [now, now + 7 * DAY, now + DAY])
      const [oldestTokenAt, lastBackupAt, inADay, inAWeek] = row as Row
      return {
        size: await size(),
        oldestTokenAt: oldestTokenAt ?? undefined,
        lastBackupAt: lastBackupAt ?? undefined,
        ending: { inADay, inAWeek },
      }
    },

    async listEndingSecrets(now, before, limit) {
      const rows = await askInBackground(sql.listEndingSecrets, [now, before, limit])
      return toObjects<EndingSecret>(rows, 'kind', 'id', 'name', 'endsAt')
    },
  }
}
