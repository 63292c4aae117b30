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
    lastBackupAt: () => numberOf(sql.lastBackupAt),
  }
}
