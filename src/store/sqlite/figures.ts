import type { Figures } from '../../domain/store.ts'
import type { Context } from './context.ts'
import { databaseSize, logSize } from './files.ts'
import * as sql from './statements.ts'

/** What is measured of the store, in SQLite. */
export function createFigures({ db, read }: Context): Figures {
  const oldestTokenAt = db.prepare(sql.oldestTokenAt).pluck()
  const countEndingSecrets = db.prepare(sql.countEndingSecrets).pluck()
  const lastBackupAt = db.prepare(sql.lastBackupAt).pluck()

  return {
    size: () => read(() => ({ database: databaseSize(db.name), log: logSize(db.name) })),
    oldestTokenAt: () => read(() => oldestTokenAt.get() as number | undefined),
    countEndingSecrets: (now, before) => read(() => countEndingSecrets.get({ now, before }) as number),
    lastBackupAt: () => read(() => lastBackupAt.get() as number | undefined),
  }
}
