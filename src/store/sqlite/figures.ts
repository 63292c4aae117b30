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

/** What is measured of the store, in SQLite. */
export function createFigures({ db, read, write }: Context): Figures & OwnFigures {
  const oldestTokenAt = db.prepare(sql.oldestTokenAt).pluck()
  const newestTokenAt = db.prepare(sql.newestTokenAt).pluck()
  const countEndingSecrets = db.prepare(sql.countEndingSecrets).pluck()
  const lastBackupAt = db.prepare(sql.lastBackupAt).pluck()
  const forgetBackup = db.prepare(sql.forgetBackup)
  const insertBackup = db.prepare(sql.insertBackup)
  const replaceBackup = db.transaction((madeAt: number) => {
    forgetBackup.run()
    insertBackup.run(madeAt)
  }).immediate

  return {
    size: () => read(() => ({ database: databaseSize(db.name), log: logSize(db.name) })),
    oldestTokenAt: () => read(() => oldestTokenAt.get() as number | undefined),
    newestTokenAt: () => read(() => newestTokenAt.get() as number | undefined),
    countEndingSecrets: (now, before) => read(() => countEndingSecrets.get({ now, before }) as number),
    lastBackupAt: () => read(() => lastBackupAt.get() as number | undefined),
    recordBackup: (madeAt) => write(() => replaceBackup(madeAt)),
  }
}
