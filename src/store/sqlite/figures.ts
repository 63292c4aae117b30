import type { EndingSecret } from '../../domain/statistics.ts'
import type { Figures } from '../../domain/store.ts'
import type { Context } from './context.ts'
import { databaseSize, logSize } from './files.ts'
import * as sql from './statements/figures.ts'

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

/** What is measured of the store, in SQLite. */
export function createFigures({ db, read, write }: Context): Figures & OwnFigures {
  const oldestTokenAt = db.prepare(sql.oldestTokenAt).pluck()
  const newestTokenAt = db.prepare(sql.newestTokenAt).pluck()
  const countEndingSecrets = db.prepare(sql.countEndingSecrets).pluck()
  const listEndingSecrets = db.prepare(sql.listEndingSecrets)
  const countLiveTokens = db.prepare(sql.countLiveTokens)
  const countIssued = db.prepare(sql.countIssued).pluck()
  const lastBackupAt = db.prepare(sql.lastBackupAt).pluck()
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
      const step = await read(() => countLiveTokens.get(from, TOKENS_AT_A_TIME) as LiveStep)
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
    oldestTokenAt: () => read(() => oldestTokenAt.get() as number | undefined),
    newestTokenAt: () => read(() => newestTokenAt.get() as number | undefined),
    countEndingSecrets: (now, before) => read(() => countEndingSecrets.get({ now, before }) as number),
    listEndingSecrets: (now, before, limit) =>
      read(() => listEndingSecrets.all({ now, before, limit }) as EndingSecret[]),
    // The statement skips `fromId` itself, which no token has: ids also contain random bits.
    countLiveTokens: countLive,
    countIssued: (hour) => read(() => countIssued.get(hour) as number),
    lastBackupAt: () => read(() => lastBackupAt.get() as number | undefined),
    recordBackup: (madeAt) => write(() => replaceBackup(madeAt)),
  }
}
