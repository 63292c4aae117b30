import type { Figures } from '../../domain/store.ts'
import { newestTokenAt } from '../shared/statements/figures.ts'
import type { Context } from './context.ts'
import { databaseSize, logSize } from './files.ts'
import * as sql from './statements/database.ts'
import { countLiveTokens } from './statements/tokens.ts'

/** What a SQLite store is asked besides. */
export interface OwnFigures {
  /** When the newest token was issued, in milliseconds since the epoch; undefined: there is none. */
  newestTokenAt(): Promise<number | undefined>
  /** Notes when a backup was made, in the place of the one before. */
  recordBackup(madeAt: number): Promise<void>
}

/** Tokens counted per step: about 0.5 ms of work. */
const TOKENS_AT_A_TIME = 1000

interface LiveStep {
  seen: number
  lastId: Buffer | null
  live: number
}

/** What is measured of the store by SQLite's own means, and its backups. */
export function createOwnFigures({ db, read, write }: Context): Pick<Figures, 'size' | 'countLiveTokens'> & OwnFigures {
  const selectNewestTokenAt = db.prepare<[], number>(newestTokenAt).pluck()
  const selectLiveTokens = db.prepare<[Buffer, number], LiveStep>(countLiveTokens)
  const forgetBackup = db.prepare(sql.forgetBackup)
  const insertBackup = db.prepare(sql.insertBackup)
  const replaceBackup = db.transaction((madeAt: number) => {
    forgetBackup.run()
    insertBackup.run(madeAt)
  }).immediate

  /** Counts in steps, so that other requests can run in between. */
  async function countLive(fromId: Buffer, limit: number): Promise<number | undefined> {
    let [all, live] = [0, 0]
    for (let after: Buffer | null = fromId; after !== null; ) {
      const from: Buffer = after
      const step = await read(() => selectLiveTokens.get(from, TOKENS_AT_A_TIME) as LiveStep)
      all += step.seen
      live += step.live
      if (all > limit) return undefined
      after = step.lastId
      await new Promise(setImmediate)
    }
    return live
  }

  return {
    size: () => read(() => ({ database: databaseSize(db.name), log: logSize(db.name) })),
    newestTokenAt: () => read(() => selectNewestTokenAt.get()),
    // The statement skips `fromId` itself, which no token has: ids also contain random bits.
    countLiveTokens: countLive,
    recordBackup: (madeAt) => write(() => replaceBackup(madeAt)),
  }
}
