import { newestTokenAt } from '../shared/statements/figures.ts'
import type { Context } from './context.ts'
import { countLiveTokens } from './statements/tokens.ts'

/** Tokens counted per step: about 0.5 ms of work. */
const TOKENS_AT_A_TIME = 1000

interface LiveStep {
  seen: number
  lastId: Buffer | null
  live: number
}

export function createOwnFigures({ db, read, write }: Context) {
  const selectLiveTokens = db.prepare<[Buffer, number], LiveStep>(countLiveTokens)
  const replaceBackup = db.transaction((madeAt: number) => {
    db.prepare('DELETE FROM backups').run()
    db.prepare('INSERT INTO backups (made_at) VALUES (?)').run(madeAt)
  }).immediate

  return {
    /** When the newest token was issued; undefined if there is none. */
    newestTokenAt: () => read(() => db.prepare<[], number>(newestTokenAt).pluck().get()),

    /** Counts in steps, so that other requests can run in between. Skips `fromId` itself, which no token has. */
    async countLiveTokens(fromId: Buffer, limit: number): Promise<number | undefined> {
      let [seen, live] = [0, 0]
      for (let after: Buffer | null = fromId; after !== null; ) {
        const from: Buffer = after
        const step = await read(() => selectLiveTokens.get(from, TOKENS_AT_A_TIME) as LiveStep)
        seen += step.seen
        live += step.live
        if (seen > limit) return undefined
        after = step.lastId
        await new Promise(setImmediate)
      }
      return live
    },

    recordBackup: (madeAt: number) => write(() => replaceBackup(madeAt)),
  }
}
